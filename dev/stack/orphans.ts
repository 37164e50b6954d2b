import { readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { output } from './binaries.ts';
import { isAlive, type StopSteps, sendSignal } from './child.ts';

/** A server that may still run after its parent process was killed, and how to recognize its processes. */
export interface OrphanedServer {
  /** The working directory of the server and its child processes. */
  readonly folder: string;
  readonly pidFile: string;
  readonly program: RegExp;
  /** Used on systems without /proc: the command line of the server contains at least one of these texts. */
  readonly commandLineParts: readonly string[];
  readonly stop: StopSteps;
}

/**
 * Ends a server that still runs in its folder after its parent process was killed. Sends the signals of `stop` to the main process, then SIGKILL to
 * its remaining child processes. Sends no signal to an unrelated process, even if the pid file contains the id of that process.
 */
export async function stopOrphans(orphan: OrphanedServer): Promise<void> {
  const main = recordedPid(orphan.pidFile);
  for (const [signal, timeoutMs] of orphan.stop) {
    if (main === undefined || !processesOf(orphan).includes(main)) break;
    sendSignal(main, signal);
    await waitForExit(orphan, main, timeoutMs);
  }
  for (let attempt = 0; attempt < 50; attempt++) {
    const rest = processesOf(orphan);
    if (rest.length === 0) break;
    for (const pid of rest) sendSignal(pid, 'SIGKILL');
    await sleep(100);
  }
  // Deletes the pid file if its process id now belongs to an unrelated process. Otherwise a new server would conclude that the old server still runs.
  // On Linux, the search in /proc above shows whether the old server has ended. On other systems it has certainly ended if the pid file is older than
  // the last boot.
  const isReused = main !== undefined && isAlive(main);
  if (isReused && (process.platform === 'linux' || isOlderThanBoot(orphan.pidFile))) rmSync(orphan.pidFile, { force: true });
}

function processesOf(orphan: OrphanedServer): number[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => pid > 0 && pid !== process.pid && worksIn(orphan, pid));
  }
  const pid = recordedPid(orphan.pidFile);
  return pid !== undefined && isAlive(pid) && hasCommandLine(orphan, pid) ? [pid] : [];
}

function worksIn({ folder, program }: OrphanedServer, pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder && program.test(basename(readlinkSync(`/proc/${pid}/exe`)));
  } catch {
    // The process belongs to another user, or it has ended.
    return false;
  }
}

function hasCommandLine({ program, commandLineParts }: OrphanedServer, pid: number): boolean {
  try {
    const command = output('ps', ['-o', 'args=', '-p', String(pid)]);
    return program.test(command) && commandLineParts.some((part) => command.includes(part));
  } catch {
    return false;
  }
}

async function waitForExit(orphan: OrphanedServer, pid: number, timeoutMs: number): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (Date.now() < end && processesOf(orphan).includes(pid)) await sleep(50);
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
