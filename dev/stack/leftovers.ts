import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { output } from './binaries.ts';
import { isAlive, type StopSteps, send } from './child.ts';

/** A server that an earlier run may have left behind, and how to know it. */
export interface Leftover {
  /** The folder that the server and its helpers work in. */
  readonly folder: string;
  readonly pidFile: string;
  readonly program: RegExp;
  /** Where the working folder of a process cannot be seen, its command line names one of these. */
  readonly marks: readonly string[];
  readonly stop: StopSteps;
}

/**
 * Ends what a run that was killed outright has left running in a folder: the main process by the given signals, then
 * whatever helpers still hold on to the data. A process that merely got the same number is not touched.
 */
export async function endLeftovers(leftover: Leftover): Promise<void> {
  const main = recordedPid(leftover.pidFile);
  for (const [signal, patience] of leftover.stop) {
    if (main === undefined || !processesOf(leftover).includes(main)) break;
    send(main, signal);
    await goneWithin(leftover, main, patience);
  }
  for (let attempt = 0; attempt < 50; attempt++) {
    const rest = processesOf(leftover);
    if (rest.length === 0) break;
    for (const pid of rest) send(pid, 'SIGKILL');
    await sleep(100);
  }
  // A server would take the stranger who has its old number now for itself. Deleting the file is safe only where
  // we know that nothing of the old server is left.
  const isStranger = main !== undefined && isAlive(main);
  if (isStranger && (process.platform === 'linux' || isOlderThanBoot(leftover.pidFile))) rmSync(leftover.pidFile, { force: true });
}

function processesOf(leftover: Leftover): number[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && pid !== process.pid && worksIn(leftover, pid));
  }
  const pid = recordedPid(leftover.pidFile);
  return pid !== undefined && isAlive(pid) && isNamed(leftover, pid) ? [pid] : [];
}

function worksIn({ folder, program }: Leftover, pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder && program.test(basename(readlinkSync(`/proc/${pid}/exe`)));
  } catch {
    // Another user's process, or gone meanwhile.
    return false;
  }
}

function isNamed({ program, marks }: Leftover, pid: number): boolean {
  try {
    const command = output('ps', ['-o', 'args=', '-p', String(pid)]);
    return program.test(command) && marks.some((mark) => command.includes(mark));
  } catch {
    return false;
  }
}

async function goneWithin(leftover: Leftover, pid: number, patience: number): Promise<void> {
  const end = Date.now() + patience;
  while (Date.now() < end && processesOf(leftover).includes(pid)) await sleep(50);
}

function recordedPid(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function isOlderThanBoot(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats !== undefined && stats.mtimeMs < Date.now() - uptime() * 1000;
}
