import { createReadStream } from 'node:fs';

/** Maximum bytes of a deny list: about 90,000 wallets. */
const MAX_BYTES = 4_194_304;
/** Timeout of the request for a deny list, ms. */
const TIMEOUT_MS = 15_000;

/**
 * Reads the text of the deny list. Error messages omit the URL, because its query may contain a key.
 * @param source the path of a file, or a URL
 * @throws when the source cannot be read, or when the text is longer than `MAX_BYTES`
 */
export async function readDenyListSource(source: string | URL): Promise<string> {
  return await readText(typeof source === 'string' ? createReadStream(source) : await request(source));
}

async function request(url: URL): Promise<AsyncIterable<Uint8Array>> {
  // Does not follow redirects, so that only the configured host is queried.
  const response = await fetch(url, { headers: { Accept: 'text/plain' }, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (response.status === 200 && response.body) return response.body;
  await response.body?.cancel();
  throw new Error(`the source of the deny list answered with status ${response.status}`);
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the deny list must have at most ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
