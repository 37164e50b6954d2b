import { z } from 'zod';
import type { App } from '#platform/app.ts';
import { lastGood, type Reading } from '#platform/redis/stale-while-revalidate.ts';

/** What the source answers: CoinGecko's `/simple/price` for one coin in one currency. Zero is nobody's price. */
const Answer = z.object({ solana: z.object({ usd: z.number().positive() }) });

/** How long a price is fresh, and how long the last one stands in when the source fails, ms. */
export const PRICE_FRESH_MS = 30_000;
const PRICE_KEPT_MS = 600_000;
/** How long the source may take, and how much it may say. */
const SOURCE_WITHIN_MS = 3_000;
const MOST_BYTES = 16_384;

const readPrice = lastGood<'sol', number>({
  name: 'price',
  keyOf: (native) => native,
  shape: z.number().positive(),
  freshMs: PRICE_FRESH_MS,
  keptMs: PRICE_KEPT_MS,
  patienceMs: 1_000,
  withinMs: SOURCE_WITHIN_MS + 1_000,
  restMs: 5_000,
  most: 1,
  atOnce: 1,
  unknown: 'the price of SOL is not known at the moment, try again',
  read: askSource,
});

/**
 * USD for one SOL, at most 30 s old; at most 10 minutes while the source fails.
 * @throws 503 when there is no such price
 */
export const solPrice = (app: App): Promise<Reading<number>> => readPrice(app, 'sol');

/** Errors do not repeat the address, which may hold a key. */
async function askSource(app: App): Promise<number> {
  const response = await fetch(app.config.chain.priceUrl, {
    headers: { Accept: 'application/json' },
    // Whoever answers for the source may not send us elsewhere.
    redirect: 'manual',
    signal: AbortSignal.timeout(SOURCE_WITHIN_MS),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the price source answered ${response.status}`);
  }
  const parsed = Answer.safeParse(parseJson(await readText(response)));
  if (!parsed.success) throw new Error('the price source answered with something that is no price');
  return parsed.data.solana.usd;
}

/** @throws when it is longer than a price can be; the rest is not read */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new Error(`the price source answered with more than ${MOST_BYTES} bytes`);
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
