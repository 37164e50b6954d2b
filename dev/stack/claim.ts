import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { output } from './binaries.ts';
import { codeOf, isAlive } from './child.ts';

const CLAIM = 'owner';

/** Makes a folder ours until it is released or we are gone; throws when another living process has it. */
export async function claim(folder: string): Promise<void> {
  const file = join(folder, CLAIM);
  const mine = identity(process.pid);
  while (!create(file, mine)) {
    const owner = claimant(folder);
    if (owner !== undefined) throw new Error(`${folder} is in use by process ${owner}: stop that first`);
    rmSync(file, { force: true });
  }
  // Of two that found the same dead owner, the later one may have removed the earlier one's claim: the file decides.
  await sleep(20);
  if (read(file) !== mine) throw new Error(`${folder} is in use by another process that started at the same moment`);
}

/** Gives a folder back. */
export function release(folder: string): void {
  const file = join(folder, CLAIM);
  if (read(file) === identity(process.pid)) rmSync(file, { force: true });
}

/** The living process that has claimed a folder. */
export function claimant(folder: string): number | undefined {
  const content = read(join(folder, CLAIM));
  const pid = Number(content?.split(' ')[0]);
  return pid > 0 && isAlive(pid) && identity(pid) === content ? pid : undefined;
}

function create(file: string, content: string): boolean {
  try {
    writeFileSync(file, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** A process's number and when it began: numbers are used again, after a restart of the machine quite soon. */
function identity(pid: number): string {
  return `${pid} ${startOf(pid)}`;
}

function startOf(pid: number): string {
  try {
    if (process.platform !== 'linux') return output('ps', ['-o', 'lstart=', '-p', String(pid)]);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Fields are counted after the program's name, which stands in brackets and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie, which in a container without an init may stay for ever, owns nothing.
    if (fields[0] === 'Z') return 'ended';
    const started = fields[19];
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${started}`;
  } catch {
    return '';
  }
}
