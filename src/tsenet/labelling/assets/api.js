// Requests to the server of this page. The token comes from the address, and goes out in a header.

const token = new URLSearchParams(location.search).get("token") ?? "";

/** This window's name: other windows' labels are not overwritten, and undo takes back its own. */
export const by = (() => {
  const known = sessionStorage.getItem("tsenet-label-window");
  const name = known ?? `w${crypto.getRandomValues(new Uint32Array(2)).join("-")}`.slice(0, 40);
  sessionStorage.setItem("tsenet-label-window", name);
  return name;
})();

export class Refused extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, {
      ...options,
      headers: { "X-Tsenet-Token": token, ...options.headers },
    });
  } catch {
    throw new Refused(0, "The program has ended: start it again, and nothing is lost.");
  }
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, found.error ?? `error ${answer.status}`);
  return found;
}

export const get = (path, fields = {}) => ask(`${path}?${new URLSearchParams(fields)}`);

export const post = (path, body) =>
  ask(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

let last = Promise.resolve();

/** Do something, after all that was asked for before it. */
export function act(action, seen) {
  const next = last.then(() => post("act", { by, seen, action }));
  last = next.catch(() => {});
  return next;
}
