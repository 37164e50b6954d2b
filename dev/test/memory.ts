import { readFileSync, statfsSync } from 'node:fs';
import { totalmem } from 'node:os';

/** The file system of Linux that keeps files in memory. */
const SHARED_MEMORY = '/dev/shm';
const GIB = 1024 ** 3;
/** Minimum size of the file system and minimum memory of the machine. The files of the normal tests need 200 MB, those of the long tests 500 MB. */
const MIN_FOLDER_BYTES = 4 * GIB;
const MIN_MEMORY_BYTES = 8 * GIB;

/**
 * Returns the folder for the temporary files of tests if it may be in memory. Each test creates and drops a database of 1,000 files. The file system ext4 searches
 * past all inodes that were freed within the last seconds for each new file, so a database takes four times as long on it.
 * @returns undefined when the machine has no such folder or too little memory, or does not run programs of this folder
 */
export function memoryFolder(): string | undefined {
  if (process.platform !== 'linux' || totalmem() < MIN_MEMORY_BYTES) return undefined;
  const mount = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((line) => line.includes(` ${SHARED_MEMORY} `));
  if (mount === undefined || /\bnoexec\b/.test(mount)) return undefined;
  const { bsize, blocks } = statfsSync(SHARED_MEMORY);
  return bsize * blocks < MIN_FOLDER_BYTES ? undefined : SHARED_MEMORY;
}
