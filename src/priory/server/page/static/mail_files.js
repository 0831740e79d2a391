// Finds the messages in files and folders, slice by slice: a file is never held in memory as a whole.

const SLICE = 4 * 1024 * 1024;
const HEAD = 512; // bytes that are enough to recognise a file
const MOST_TOGETHER = 64; // messages sent in one request, and bytes: few are unanswered if the connection breaks
const BYTES_TOGETHER = 1024 * 1024; // but less if messages must be small: see max_bytes of [serve]
const LONGEST_PARTIAL_SEPARATOR = "\n\r\nFrom ".length - 1;
const MAIL = /^(?:From |(?![{["<])[!-9;-~]+[ \t]*:)/; // as in priory.corpus.mail_file
const PACKED = /^(?:PK\x03\x04|\x1f.|BZh|7z)/s; // of gzip, the second byte is not in Latin-1 as browsers decode it
const latin1 = new TextDecoder("latin1"); // one character for each byte

const text = async (blob) => latin1.decode(await blob.arrayBuffer());

/** Return the files of an input; those of a chosen folder are *found*: only mail among them is read. */
export const chosenFiles = (input) =>
  [...input.files].map((file) => ({ file, name: file.webkitRelativePath || file.name, isFound: !!file.webkitRelativePath }));

/** Return the dropped files, and those in dropped folders. Call it before anything is awaited in the event. */
export async function droppedFiles(transfer) {
  const dropped = [...transfer.items].filter(({ kind }) => kind === "file");
  const items = dropped.map((item) => [item.webkitGetAsEntry?.(), item.getAsFile()]);
  const files = [];
  for (const [entry, file] of items) {
    if (entry?.isDirectory) await addFolder(entry, files);
    else if (file) files.push({ file, name: file.name, isFound: false });
  }
  return files;
}

/** Tell whether a folder is among what is dropped. */
export const hasFolder = (transfer) => [...transfer.items].some((item) => item.webkitGetAsEntry?.()?.isDirectory);

async function addFolder(folder, files) {
  const reader = folder.createReader();
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // some at a time
    if (!entries.length) return;
    for (const entry of entries) {
      if (entry.isDirectory) await addFolder(entry, files);
      else {
        const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
        files.push({ file, name: entry.fullPath.slice(1), isFound: true });
      }
    }
  }
}

/** The messages of some files, in batches: what is sent in one request. */
export class Plan {
  n = 0; // messages
  bytes = 0;
  batches = []; // each has its pieces: a blob, and the name of its file
  skipped = []; // sources and reasons
  #batch = null;

  constructor(mostBytes) {
    this.mostBytes = mostBytes; // of a message
  }

  /** Find the messages of all files; `onProgress` is told the number of bytes read, and ends it by returning false. */
  async add(files, onProgress) {
    let before = 0;
    for (const found of files) {
      const go = (bytes) => onProgress(before + bytes);
      try {
        if (!(await this.#addFile(found, go))) return false;
      } catch {
        this.#skip(found.name, "This cannot be read. If it is open in another program, close it there, and choose it again.");
      }
      before += found.file.size;
    }
    return true;
  }

  async #addFile({ file, name, isFound }, go) {
    const head = await text(file.slice(0, HEAD));
    if (!file.size) this.#skip(name, "This is empty.");
    else if (isFound && !MAIL.test(head)) this.#skip(name, "This does not look like mail.");
    else if (head.startsWith("From ")) return this.#addMbox(file, name, go);
    else if (PACKED.test(head)) this.#skip(name, "This is a packed file: unpack it, and choose what is in it.");
    else this.#addMessage(file, name, 0, file.size, 1);
    return go(file.size);
  }

  async #addMbox(file, name, go) {
    let start = 0;
    let number = 0;
    for await (const [end, isMessage] of messageEnds(file)) {
      if (isMessage) {
        this.#addMessage(file, name, start, end, ++number);
        start = end;
      } else if (!go(end)) return false;
    }
    return true;
  }

  #addMessage(file, name, start, end, number) {
    if (end - start > this.mostBytes) {
      const most = this.mostBytes.toLocaleString("en");
      this.#skip(`${name}:${number}`, `The message has more than ${most} bytes, the limit set by max_bytes of [serve].`);
      return;
    }
    if (!this.#batch || this.#batch.n === MOST_TOGETHER || this.#batch.bytes >= Math.min(BYTES_TOGETHER, this.mostBytes)) {
      this.#batch = { pieces: [], n: 0, bytes: 0 };
      this.batches.push(this.#batch);
    }
    const last = this.#batch.pieces.at(-1);
    if (last?.file === file && last.end === start) last.end = end;
    else this.#batch.pieces.push({ file, name, start, end, before: number - 1 });
    this.#batch.n += 1;
    this.#batch.bytes += end - start;
    this.n += 1;
    this.bytes += end - start;
  }

  #skip(source, reason) {
    this.skipped.push({ source, reason });
  }
}

/** Yield where each message of an mbox ends, with true; and now and then where the reading is, with false.
 *
 * The rule is that of `priory.corpus.mbox`: an envelope line follows a blank line. */
export async function* messageEnds(file, slice = SLICE) {
  let held = "";
  let base = 0; // the place of the first held character
  for (let at = 0; at < file.size; at += slice) {
    held += await text(file.slice(at, at + slice));
    let rest = 0;
    for (let i = held.indexOf("\nFrom "); i >= 0; i = held.indexOf("\nFrom ", i + 1)) {
      if (held[i - 1] !== "\n" && !(held[i - 1] === "\r" && held[i - 2] === "\n")) continue;
      rest = i + 1;
      yield [base + rest, true];
    }
    rest = Math.max(rest, held.length - LONGEST_PARTIAL_SEPARATOR);
    base += rest;
    held = held.slice(rest);
    yield [Math.min(at + slice, file.size), false];
  }
  yield [file.size, true];
}
