import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Returns the path of the file that a process writes after it has collected its garbage. */
export const collectedFile = (pid: number): string => join(tmpdir(), `coinop-collected-${pid}`);
