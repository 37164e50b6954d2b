import { constants, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { storageDown } from './down.ts';
import { Draft } from './draft.ts';
import { PUT_MS, pathOf, type Storage } from './storage.ts';

const CHUNK_BYTES = 64 * 1024;
/** What a symbolic link leads to is nothing of ours. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW;

/** Keeps bytes in files of a folder, which may be shared by many machines. */
export function openDisk(root: string): Storage {
  const folder = resolve(root);
  const placeOf = (id: string) => {
    const { folder: part, name } = pathOf(id);
    const parent = join(folder, part);
    return { parent, path: join(parent, name), part: join(parent, `${name}.part`) };
  };
  return {
    draft: () => Draft.open(folder),
    async put(id, draft) {
      const { parent, path, part } = placeOf(id);
      await orDown(async () => {
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
      return await orDown(async () => {
        const file = await open(placeOf(id).path, READ);
        if (await holds(file, end).catch(() => false)) return file.createReadStream({ start, end, highWaterMark: CHUNK_BYTES });
        await file.close();
        throw new Error(`the file of ${id} is not what was kept`);
      });
    },
    async remove(id) {
      const { path, part } = placeOf(id);
      await orDown(async () => {
        await rm(part, { force: true });
        await rm(path, { force: true });
      });
    },
    close: () => undefined,
  };
}

async function holds(file: FileHandle, end: number): Promise<boolean> {
  const found = await file.stat();
  return found.isFile() && found.size > end;
}

/** A rename lasts once its folder has reached the disk. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync();
}

async function orDown<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storageDown(error);
  }
}
