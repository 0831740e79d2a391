// The teaching of many messages: batch by batch, and undone exactly.
import { Problem, send } from "/assets/shell.js";

const WAIT_MS = 1000; // before a request is repeated that came too early
const TRIES = 30;

/** The teaching of a plan. All its lessons have a source that begins with its name, by which the journal finds them. */
export class Teaching {
  next = 0; // the first batch that was not acknowledged as a whole
  done = 0; // messages of the batches before
  outcomes = { learned: 0, known: 0, relearned: 0, kept: 0 };
  skipped = [];
  corrected = []; // lessons that had another label before
  kept = []; // lessons that wait for the journal
  #isBroken = false; // whether a batch was sent more than once

  constructor(plan, label, user) {
    [this.plan, this.label, this.user] = [plan, label, user];
    const digits = [...crypto.getRandomValues(new Uint8Array(4))].map((byte) => byte.toString(16).padStart(2, "0"));
    this.name = `page-${digits.join("")}`;
    this.skipped.push(...plan.skipped);
  }

  get isOver() {
    return this.next === this.plan.batches.length;
  }

  /** What selects the lessons of this teaching, and no others. */
  get selection() {
    return new URLSearchParams({ source: `http:${this.name}/`, label: this.label, user: this.user });
  }

  /** Teach the next batch; it is complete only when this returns. */
  async step() {
    const batch = this.plan.batches[this.next];
    const form = new FormData();
    for (const { file, name, start, end, before } of batch.pieces) {
      form.append("mail", file.slice(start, end), `${this.name}/${name}${before ? ` +${before}` : ""}`);
    }
    const query = new URLSearchParams({ label: this.label, user: this.user });
    let answer;
    try {
      answer = await patiently(async () => (await send("POST", `/v1/learn?${query}`, form)).json());
    } catch (error) {
      this.#isBroken = true;
      throw await explained(error, batch);
    }
    if (answer.stopped) {
      this.#isBroken = true;
      throw new Problem(503, answer.stopped);
    }
    for (const lesson of answer.messages) {
      this.outcomes[lesson.outcome] += 1;
      if (lesson.outcome === "relearned") this.corrected.push(lesson);
      if (lesson.outcome === "kept") this.kept.push(lesson);
    }
    for (const { source, reason } of answer.passed_over) {
      this.skipped.push({ source: source.slice(this.name.length + 1), reason });
    }
    this.next += 1;
    this.done += batch.n;
  }

  /** If a batch was sent twice, lessons of the first time are *known* the second time: ask the journal instead. */
  async recount() {
    if (!this.#isBroken) return;
    const ours = await this.#total();
    const known = this.outcomes.learned + this.outcomes.known + this.outcomes.relearned - ours;
    Object.assign(this.outcomes, { learned: ours - this.outcomes.relearned, known });
  }

  async #total() {
    return (await patiently(async () => (await send("GET", `/v1/messages?${this.selection}&most=1`)).json())).total;
  }

  /** Forget the lessons of this teaching, and give corrected lessons the label they had; return how many of each. */
  async undo() {
    const as = new URLSearchParams({ user: this.user });
    for (let lesson = this.corrected.at(-1); lesson; lesson = this.corrected.at(-1)) {
      const { digest, was } = lesson;
      await patiently(() => send("POST", `/v1/messages/relearn?digest=${digest}&label=${encodeURIComponent(was)}&${as}`));
      this.corrected.pop();
    }
    for (const { digest } of this.kept) await patiently(() => send("POST", `/v1/forget?digest=${digest}&${as}`));
    const total = await this.#total();
    if (total) await patiently(() => send("POST", `/v1/messages/forget?${this.selection}&expect=${total}`));
    return total + this.kept.length;
  }
}

/** Repeat a request that was refused because it came too early. */
async function patiently(act) {
  for (let left = TRIES; ; left--) {
    try {
      return await act();
    } catch (error) {
      if (error.status !== 429 || !left) throw error instanceof SyntaxError ? new Problem(0, "The answer of the daemon broke off.") : error;
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
  }
}

/** Return the problem with a batch: that a file cannot be read, if this is why it could not be sent. */
async function explained(error, batch) {
  if (error instanceof Problem && error.status) return error;
  for (const { file, name, start } of batch.pieces) {
    try {
      await file.slice(start, start + 1).arrayBuffer();
    } catch {
      return new Problem(1, `${name} cannot be read any more: it was changed or moved. Choose it again; known lessons are skipped.`);
    }
  }
  return error instanceof TypeError ? new Problem(0, "The connection to the daemon broke.") : error;
}
