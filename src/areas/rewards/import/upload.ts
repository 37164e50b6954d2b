import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { fail, unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { MAX_JSON_BYTES } from '#platform/http/body.ts';
import { openThread, type Remote, withoutThread } from '#platform/threads/worker-thread.ts';
import { type Distribution, DistributionReader } from './distribution.ts';

/** Maximum size of an uploaded distribution after decompression, bytes. */
export const MAX_UPLOAD_BYTES = 256 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Whether this process is reading an upload. A process reads one upload at a time, because an upload takes about 400 MB of memory. */
const uploadLock = perApp(() => ({ held: false }));

/**
 * Reads an uploaded distribution and calls `work` with it. A large or compressed upload is parsed in a worker thread.
 * @param work function that receives the parsed distribution and its reader; the reader may be used only while `work` runs
 * @throws 400 when gzip data is invalid or incomplete; 413 when the body is too large after decompression; 415 when the Content-Encoding is neither
 * gzip nor identity; 503 while this process reads another upload
 */
export async function readUpload<T>(
  app: App,
  body: Readable,
  { encoding, length }: { encoding: string; length: number | null },
  work: (distribution: Distribution, reader: Remote<DistributionReader>) => Promise<T>,
): Promise<T> {
  if (!/^(?:|identity|gzip|x-gzip)$/i.test(encoding)) throw fail(415, 'Content-Encoding must be gzip or identity');
  const lock = app.state(uploadLock);
  if (lock.held) throw unavailable('this server is reading another import, try again', 5);
  lock.held = true;
  const isPacked = /gzip/i.test(encoding);
  const isSmall = !isPacked && length !== null && length <= MAX_JSON_BYTES;
  const thread = isSmall ? withoutThread(new DistributionReader()) : openThread<DistributionReader>(new URL('./thread.ts', import.meta.url));
  try {
    const chunks = isPacked ? decompress(body) : body;
    let size = 0;
    for await (const chunk of chunks) {
      if (!Buffer.isBuffer(chunk)) throw new Error('the body stream must yield buffers');
      size += chunk.length;
      if (size > MAX_UPLOAD_BYTES) throw fail(413, `the body must be at most ${MAX_UPLOAD_BYTES} bytes after decompression`);
      if (!(await thread.remote.push(chunk))) break;
    }
    return await work(await thread.remote.finish(), thread.remote);
  } catch (error) {
    throw isZlib(error) ? fail(400, 'the body must be valid, complete gzip data') : error;
  } finally {
    lock.held = false;
    body.destroy();
    await thread.close();
  }
}

/**
 * Decompresses the body chunk by chunk as it is read, so the size limit stops a decompression bomb early. If the body fails, the returned stream fails
 * too, even if the body failed before this call.
 */
function decompress(body: Readable): Readable {
  return pipeline(body, createGunzip({ chunkSize: CHUNK_BYTES }), () => undefined);
}

const isZlib = (error: unknown) => Error.isError(error) && 'code' in error && /^Z_/.test(String(error.code));
