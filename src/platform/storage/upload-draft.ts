import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '#lib/errors.ts';
import { storageUnavailable } from './unavailable.ts';

/** Bytes at the start of a file that are enough to detect the file type. */
const HEAD_BYTES = 4_096;
const CHUNK_BYTES = 256 * 1024;

/**
 * An upload in progress, in a temporary file. The file is unlinked before the first byte arrives, so the operating system deletes the file when the
 * process ends, even after a crash.
 */
export class UploadDraft {
  readonly #file: FileHandle;
  readonly #hash = createHash('sha256');
  #digest: Buffer | null = null;
  bytes = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Creates the temporary file. @throws 503 when the folder is not writable */
  static async open(folder: string): Promise<UploadDraft> {
    try {
      await mkdir(folder, { recursive: true });
      const path = join(folder, `${randomUUID()}.draft`);
      const draft = new UploadDraft(await open(path, 'wx+', 0o600));
      await unlink(path).catch(async (error: unknown) => {
        await draft.close();
        throw error;
      });
      return draft;
    } catch (error) {
      throw storageUnavailable(error);
    }
  }

  /**
   * Writes a stream to the temporary file. Writes each chunk before it reads the next one, so that a slow disk slows the stream down.
   * @param inspect receives the first `HEAD_BYTES` bytes as soon as they have arrived; it throws to abort the upload
   * @throws 413 when the stream exceeds `maxBytes`, 503 when the disk is full
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
      throw storageUnavailable(error);
    }
  }

  /** Descriptor of the temporary file, which other threads of the process can read until the draft is closed. */
  get descriptor(): number {
    return this.#file.fd;
  }

  /** SHA-256 of the received bytes. */
  get sha256(): Buffer {
    this.#digest ??= this.#hash.digest();
    return this.#digest;
  }

  /** Streams the received bytes from the first byte on. May be called several times. @throws 503 when the disk fails */
  async *read(): AsyncGenerator<Buffer, void> {
    for (let at = 0; at < this.bytes; ) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, at).catch((error: unknown) => {
        throw storageUnavailable(error);
      });
      if (bytesRead === 0) throw storageUnavailable(new Error('the upload file is shorter than the received bytes'));
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  /** Closes the temporary file, and thereby deletes it. */
  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined);
  }
}
