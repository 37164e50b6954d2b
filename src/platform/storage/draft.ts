import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '#lib/errors.ts';
import { storageDown } from './down.ts';

/** As many bytes as it takes to tell what a file is. */
const HEAD_BYTES = 4_096;
const CHUNK_BYTES = 256 * 1024;

/**
 * Bytes on their way in, on disk. The file has no name any more when the first of them arrives, so it is gone with its process, however that
 * ends: nobody has to tidy up.
 */
export class Draft {
  readonly #file: FileHandle;
  readonly #hash = createHash('sha256');
  #digest: Buffer | null = null;
  bytes = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @throws 503 when the folder cannot be written to */
  static async open(folder: string): Promise<Draft> {
    try {
      await mkdir(folder, { recursive: true });
      const path = join(folder, `${randomUUID()}.draft`);
      const draft = new Draft(await open(path, 'wx+', 0o600));
      await unlink(path).catch(async (error: unknown) => {
        await draft.close();
        throw error;
      });
      return draft;
    } catch (error) {
      throw storageDown(error);
    }
  }

  /**
   * Takes bytes to their end, as fast as the disk does.
   * @param inspect is given the beginning, as soon as it is there; what it throws ends it
   * @throws 413 past `maxBytes`, 503 when the disk is full
   */
  async fill(source: AsyncIterable<Buffer>, maxBytes: number, inspect: (head: Buffer) => void): Promise<void> {
    let head: Buffer | null = Buffer.alloc(0);
    for await (const chunk of source) {
      this.bytes += chunk.length;
      if (this.bytes > maxBytes) throw fail(413, `file must be at most ${maxBytes} bytes`);
      if (head !== null) {
        head = Buffer.concat([head, chunk]);
        if (head.length >= HEAD_BYTES) {
          inspect(head.subarray(0, HEAD_BYTES));
          head = null;
        }
      }
      this.#hash.update(chunk);
      await this.#write(chunk);
    }
    if (head !== null) inspect(head);
  }

  async #write(chunk: Buffer): Promise<void> {
    try {
      await this.#file.writeFile(chunk);
    } catch (error) {
      throw storageDown(error);
    }
  }

  /** SHA-256 of what was received. */
  get sha256(): Buffer {
    this.#digest ??= this.#hash.digest();
    return this.#digest;
  }

  /** What was received, from its beginning; as often as it is needed. */
  async *read(): AsyncGenerator<Buffer, void> {
    for (let at = 0; at < this.bytes; ) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, at);
      if (bytesRead === 0) throw new Error('a draft is shorter than what it received');
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  /** Forgets it. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined);
  }
}
