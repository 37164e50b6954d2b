import { z } from 'zod';
import { type BeaconChain, chainHashOf, SCHEME } from '#lib/draw/beacon-chain.ts';
import { get, json, read, Unreadable, VerificationFailure } from './epoch-published.ts';

/** Schemas of the responses about winners and payouts. They contain only the fields that are compared. */
const Prize = z.object({ amount: z.string(), address: z.string() });
const Winner = z.object({ place: z.int(), wallet: z.string(), prize: Prize, entryIndex: z.int(), matches: z.int() });
const Payout = z.object({ place: z.int(), wallet: z.string(), prize: Prize, status: z.string(), signature: z.string().nullable() });
export type Payout = z.output<typeof Payout>;
const Payouts = z.object({ payouts: z.array(Payout) });
const LegacyRound = z.object({
  entries: z.int(),
  winningTicket: z.int().nullable(),
  winner: z.string().nullable(),
});

/** The responses of the service about a round. `audit` and `entries` are parsed later. */
export interface PublishedRound {
  readonly kind: 'chat' | 'legacy';
  readonly audit: unknown;
  readonly entries: readonly unknown[];
  readonly winners: readonly z.output<typeof Winner>[] | null;
  readonly payouts: readonly Payout[] | null;
  readonly legacy: z.output<typeof LegacyRound> | null;
}

async function page<Shape extends z.ZodType>(url: string, name: string, shape: Shape): Promise<z.output<Shape>> {
  return read(name, shape, json(name, await (await get(url)).text()));
}

/**
 * Finds the kind of a round: `chat` when the service has an audit (the published data of the round) under the URL of chat rounds, otherwise `legacy`.
 */
async function find(base: string, id: string): Promise<{ kind: PublishedRound['kind']; url: string; audit: Response }> {
  const [chat, legacy] = [new URL(`/chat/round/${id}`, base).href, new URL(`/round/${id}`, base).href];
  try {
    return { kind: 'chat', url: chat, audit: await get(`${chat}/audit`) };
  } catch (error) {
    const audit = await get(`${legacy}/audit`).catch(() => null);
    if (audit === null) throw error;
    return { kind: 'legacy', url: legacy, audit };
  }
}

/**
 * Downloads all responses about a round.
 * @throws Unreadable when a response cannot be read; VerificationFailure when a response is invalid
 */
export async function downloadRound(base: string, id: string): Promise<PublishedRound> {
  const { kind, url, audit: answer } = await find(base, id);
  const audit = json('the audit', await answer.text());
  const lines = (await (await get(`${url}/entries?format=ndjson`)).text()).split('\n').slice(0, -1);
  const entries = lines.map((line, i) => json(`line ${i + 1} of the entries`, line));
  const isDrawn = z.object({ winners: z.array(z.unknown()) }).safeParse(audit).success;
  const isChat = isDrawn && kind === 'chat';
  return {
    ...{ kind, audit, entries },
    winners: isChat ? await page(`${url}/winners`, 'the winners', z.array(Winner)) : null,
    payouts: isChat ? (await page(`${url}/payouts`, 'the payouts', Payouts)).payouts : null,
    legacy: isDrawn && kind === 'legacy' ? await page(url, 'the round', LegacyRound) : null,
  };
}

/** Returns whether the audit of a round (its published data) has no commitment yet. */
export const hasNoCommitment = (audit: unknown): boolean => z.object({ commitment: z.null() }).safeParse(audit).success;

const Keys = z.object({
  committer: z.string().nullable(),
  formerCommitters: z.array(z.string()),
  beacon: z.object({ chainHash: z.string(), publicKey: z.string(), urls: z.array(z.string()) }),
});
export type Keys = z.output<typeof Keys>;

/** Downloads the public keys of the service and the parameters of its beacon. */
export const downloadKeys = (base: string): Promise<Keys> => page(new URL('/.well-known/coinop-keys', base).href, 'the keys', Keys);

const Info = z.object({
  public_key: z.string().regex(/^[0-9a-f]{192}$/),
  period: z.int().min(1),
  genesis_time: z.int().min(0),
  hash: z.string(),
  groupHash: z.string().regex(/^[0-9a-f]{64}$/),
  schemeID: z.literal(SCHEME),
  metadata: z.object({ beaconID: z.string() }),
});

/** Reads a drand chain from the URL of its HTTP API. */
export async function readBeaconChain(url: string): Promise<BeaconChain> {
  const info = await page(`${url.replace(/\/+$/, '')}/info`, 'the beacon', Info);
  const { public_key: publicKey, period, genesis_time: genesisTime, groupHash, metadata } = info;
  const reported = { publicKey, period, genesisTime, groupHash, beaconId: metadata.beaconID };
  const chainHash = chainHashOf(reported);
  if (chainHash !== info.hash) throw new VerificationFailure(`the beacon’s hash is ${info.hash}, but should be ${chainHash}`);
  return { chainHash, scheme: SCHEME, ...reported };
}

/** Reads the drand chain that the service reports. The service reports several URLs; uses the first URL that serves this chain. */
export async function readServiceBeacon({ beacon: { chainHash, publicKey, urls } }: Keys): Promise<BeaconChain> {
  for (const url of urls) {
    const chain = await readBeaconChain(`${url.replace(/\/+$/, '')}/${chainHash}`).catch(() => null);
    if (chain?.chainHash === chainHash && chain.publicKey === publicKey) return chain;
  }
  throw new Unreadable(`the beacon ${chainHash} cannot be read at ${urls.join(', ') || 'any address'}`);
}
