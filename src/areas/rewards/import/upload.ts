import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { fail, unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { MAX_JSON_BYTES } from '#platform/http/body.ts';
import { openThread, type Remote, withoutThread } from '#platform/threads/worker-thread.ts';
import { type Distribution, DistributionReader } from './distribution.ts';

/** How large an import may be once unpacked, bytes. */
export const MAX_UPLOAD_BYTES = 256 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

/** Processes read one upload at a time: each takes some 400 MB. */
const busy = new WeakSet<App>();

/**
 * Reads an uploaded distribution to its end, unless it is small in a thread of its own, and hands it on while its rows are
 * still there. An upload that is cut off has left nothing anywhere.
 * @param encoding the request's Content-Encoding; `length` its Content-Length, null where it has none
 * @throws 400 what is no gzip, or was cut off; 413 what is too large unpacked; 415 another encoding; 503 when another upload is being read
 */
export async function readUpload<T>(
  app: App,
  body: Readable,
  { encoding, length }: { encoding: string; length: number | null },
  work: (distribution: Distribution, reader: Remote<DistributionReader>) => Promise<T>,
): Promise<T> {
  if (!/^(?:|identity|gzip|x-gzip)$/i.test(encoding)) throw fail(415, 'Content-Encoding must be gzip or identity');
  if (busy.has(app)) throw unavailable('another import is being read, try again', 5);
  busy.add(app);
  const isPacked = /gzip/i.test(encoding);
  const isSmall = !isPacked && length !== null && length <= MAX_JSON_BYTES;
  const thread = isSmall ? withoutThread(new DistributionReader()) : openThread<DistributionReader>(new URL('./thread.ts', import.meta.url));
  try {
    const chunks = isPacked ? unpacked(body) : body;
    let size = 0;
    for await (const chunk of chunks) {
      if (!Buffer.isBuffer(chunk)) throw new Error('an upload is made of bytes');
      size += chunk.length;
      if (size > MAX_UPLOAD_BYTES) throw fail(413, `the body must be at most ${MAX_UPLOAD_BYTES} bytes unpacked`);
      if (!(await thread.remote.push(chunk))) break;
    }
    return await work(await thread.remote.finish(), thread.remote);
  } catch (error) {
    throw isZlib(error) ? fail(400, 'the body must be complete gzip') : error;
  } finally {
    busy.delete(app);
    body.destroy();
    await thread.close();
  }
}

/** Unpacks as fast as it is taken, never ahead: what swells a thousandfold is stopped at the limit. */
function unpacked(body: Readable): Readable {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  body.on('error', (error) => gunzip.destroy(error));
  gunzip.on('close', () => body.unpipe(gunzip));
  return body.pipe(gunzip);
}

const isZlib = (error: unknown) => Error.isError(error) && 'code' in error && /^Z_/.test(String(error.code));
