import { z } from 'zod';
import type { App } from '#platform/app.ts';
import { type Reading, staleWhileRevalidate } from '#platform/redis/stale-while-revalidate.ts';

/** The response of the price API, in the format of CoinGecko's `/simple/price` for one coin in one currency. A price of zero is rejected. */
const PriceResponse = z.object({ solana: z.object({ usd: z.number().positive() }) });

/** Age up to which a cached price is returned without a new request, ms. */
export const PRICE_FRESH_MS = 30_000;
/** Maximum age of the price that is returned while the price API fails, ms. */
const PRICE_STALE_MS = 600_000;
/** Timeout of a request to the price API, ms. */
const TIMEOUT_MS = 3_000;
/** Maximum bytes of a response. */
const MAX_BYTES = 16_384;

const readPrice = staleWhileRevalidate<'sol', number>({
  name: 'price',
  keyOf: (native) => native,
  shape: z.number().positive(),
  freshMs: PRICE_FRESH_MS,
  staleMs: PRICE_STALE_MS,
  waitIfStaleMs: 1_000,
  waitIfMissingMs: TIMEOUT_MS + 1_000,
  failureBackoffMs: 5_000,
  maxKeys: 1,
  maxConcurrent: 1,
  unavailableMessage: 'the price of SOL cannot be read at the moment, try again',
  read: fetchPrice,
});

/**
 * Returns the price of one SOL in USD, cached for 30 s, or for 10 minutes while the price API fails.
 * @throws 503 when no cached price is left
 */
export const solPrice = (app: App): Promise<Reading<number>> => readPrice(app, 'sol');

/** Requests the price of SOL. Error messages omit the URL, because it may contain an API key. */
async function fetchPrice(app: App): Promise<number> {
  const response = await fetch(app.config.chain.priceUrl, {
    headers: { Accept: 'application/json' },
    // Does not follow redirects, so that only the configured host is queried.
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the price API answered with status ${response.status}`);
  }
  const parsed = PriceResponse.safeParse(parseJson(await readText(response)));
  if (!parsed.success) throw new Error('the response of the price API contains no valid price');
  return parsed.data.solana.usd;
}

/**
 * Reads a response body.
 * @throws when the body exceeds `MAX_BYTES`; the rest of the body is not read
 */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the response of the price API exceeds ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
