import { constants, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { PUT_MS, pathOf, type Storage } from './storage.ts';
import { storageUnavailable } from './unavailable.ts';
import { UploadDraft } from './upload-draft.ts';

const CHUNK_BYTES = 64 * 1024;
/** Flags for opening a file to read. O_NOFOLLOW rejects a symbolic link, so that no file outside the folder can be read. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW;

/** Opens a storage that keeps media as files in a folder. Several machines may share the folder. */
export function openDisk(root: string): Storage {
  const folder = resolve(root);
  const pathsOf = (id: string) => {
    const { folder: part, name } = pathOf(id);
    const parent = join(folder, part);
    return { parent, path: join(parent, name), part: join(parent, `${name}.part`) };
  };
  return {
    draft: () => UploadDraft.open(folder),
    async put(id, draft) {
      const { parent, path, part } = pathsOf(id);
      await orUnavailable(async () => {
        await mkdir(parent, { recursive: true });
        try {
          await using file = await open(part, 'wx', 0o600);
          await file.writeFile(draft.read(), { signal: AbortSignal.timeout(PUT_MS) });
          await file.sync();
          await rename(part, path);
        } catch (error) {
          await rm(part, { force: true });
          throw error;
        }
        await syncFolder(parent);
      });
    },
    async open(id, { start, end }) {
      return await orUnavailable(async () => {
        const file = await open(pathsOf(id).path, READ);
        if (await hasByte(file, end).catch(() => false)) return file.createReadStream({ start, end, highWaterMark: CHUNK_BYTES });
        await file.close();
        throw new Error(`the file of ${id} is missing, or ends before the requested bytes`);
      });
    },
    async remove(id) {
      const { path, part } = pathsOf(id);
      await orUnavailable(async () => {
        await rm(part, { force: true });
        await rm(path, { force: true });
      });
    },
    close: () => undefined,
  };
}

/** Returns whether a file is a regular file that has a byte at the offset `end`. */
async function hasByte(file: FileHandle, end: number): Promise<boolean> {
  const found = await file.stat();
  return found.isFile() && found.size > end;
}

/** Syncs a folder to disk, so that a rename in the folder survives a crash. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

/** Runs `work` and converts each of its errors to a 503. */
async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageUnavailable(error);
  }
}
