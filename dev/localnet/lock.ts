import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'owner';

/**
 * Makes a folder this process's own until it is released or the process is gone.
 * @throws when another living process has it
 */
export function lock(folder: string): () => void {
  const path = join(folder, FILE);
  const mine = identity(process.pid);
  if (!create(path, mine)) {
    const owner = read(path);
    const pid = Number(owner.split(' ')[0]);
    if (pid > 0 && identity(pid) === owner) throw new Error(`${folder} is in use by process ${pid}: stop that first`);
    rmSync(path, { force: true });
    if (!create(path, mine)) throw new Error(`${folder} is in use by a process that started at the same moment`);
  }
  return () => {
    if (read(path) === mine) rmSync(path, { force: true });
  };
}

function create(path: string, content: string): boolean {
  try {
    writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** A process's number and, where the system tells, when it began: numbers are used again. */
function identity(pid: number): string {
  try {
    process.kill(pid, 0);
  } catch {
    return `${pid} gone`;
  }
  if (process.platform !== 'linux') return `${pid} alive`;
  const stat = read(`/proc/${pid}/stat`);
  // Fields are counted after the program's name, which stands in brackets and may hold anything; a zombie owns nothing.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return `${pid} ${fields[0] === 'Z' ? 'gone' : fields[19]}`;
}
