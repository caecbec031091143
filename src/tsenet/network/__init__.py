"""The network (paper §5): sparse backbone, narrow skip paths, feature layer; an ordinary torch module."""
