import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** The documents of an epoch that a house falsifies. Each function gets the true text, or its true lines. `files`: files that do not exist, by path. */
export interface Falsification {
  epoch?: (text: string) => string;
  leaves?: (lines: string[]) => string[];
  points?: (lines: string[]) => string[];
  rules?: (text: string) => string;
  files?: Readonly<Record<string, string>>;
}

/** The status and the text of a true document. */
export interface TrueDocument {
  readonly status: number;
  readonly text: string;
}

/** The exit status and the output of a command. */
export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const COMMAND = join(import.meta.dirname, '../../../bin/verify-epoch');
const PYTHON = join(import.meta.dirname, '../../../tools/verify/independent/verify_epoch.py');

function falsify(path: string, text: string, lie: Falsification): string {
  const lines = (change: ((lines: string[]) => string[]) | undefined) => (change ? `${change(text.trimEnd().split('\n')).join('\n')}\n` : text);
  if (path.endsWith('/leaves')) return lines(lie.leaves);
  if (path.endsWith('/points')) return lines(lie.points);
  if (path.includes('/rules/')) return lie.rules?.(text) ?? text;
  if (path.endsWith('/exclusions')) return text;
  return lie.epoch?.(text) ?? text;
}

/** Serves the documents of a house that falsifies some of them, while `work` runs with the URL of the house. */
export async function withHouse<T>(read: (path: string) => Promise<TrueDocument>, lie: Falsification, work: (url: string) => Promise<T>): Promise<T> {
  const house = createServer(async (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const file = lie.files?.[path];
    const { status, text } = file === undefined ? await read(path) : { status: 200, text: file };
    response.writeHead(status).end(file === undefined && status === 200 ? falsify(path, text, lie) : text);
  });
  await new Promise<void>((resolve) => house.listen(0, '127.0.0.1', resolve));
  try {
    return await work(`http://127.0.0.1:${(house.address() as AddressInfo).port}`);
  } finally {
    house.close();
  }
}

const run = (command: string, args: readonly string[]): Promise<CommandResult> =>
  new Promise((resolve) => {
    execFile(command, args, { env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' } }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err });
    });
  });

/** Runs bin/verify-epoch. */
export const verifyEpoch = (house: string, epoch: number, rpc: string, ...options: readonly string[]): Promise<CommandResult> =>
  run(COMMAND, [house, String(epoch), '--rpc', rpc, ...options]);

/** Runs the verifier in Python, which was written from docs/verification.md alone. */
export const verifyEpochInPython = (house: string, epoch: number, rpc: string): Promise<CommandResult> =>
  run('python3', [PYTHON, String(epoch), '--house', house, '--rpc', rpc]);

/** Returns the SHA-256 of lines that each end with a line feed, hex. */
export const hashOfLines = (lines: readonly string[]): string =>
  createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex');
