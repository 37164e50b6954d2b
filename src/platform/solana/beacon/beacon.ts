import { z } from 'zod';
import type { Clock } from '#lib/clock.ts';
import { type BeaconChain, chainHashOf, QUICKNET, SCHEME, timeOf } from '#lib/draw/beacon-chain.ts';
import { verifySignature } from '#lib/draw/beacon-signature.ts';
import { Hash } from '#lib/draw/bytes.ts';
import { randomnessOf } from '#lib/draw/seed.ts';
import { unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { type MirrorFault, type MirrorTimeouts, queryMirrors } from './mirrors.ts';

/** The result of reading a beacon round. `faults` lists the errors of the mirrors, for logs. */
export type BeaconResult =
  /** The verified signature and the randomness derived from it, hex. */
  | {
      readonly state: 'verified';
      readonly round: number;
      readonly signature: string;
      readonly randomness: string;
      readonly faults: readonly MirrorFault[];
    }
  /** The beacon publishes the round at `dueAt`, which is in the future; no mirror was queried. */
  | { readonly state: 'not-yet'; readonly dueAt: Date }
  /** No mirror returned a valid signature. The caller retries later. */
  | { readonly state: 'unavailable'; readonly faults: readonly MirrorFault[] };

/** The randomness beacon (drand) that decides lottery draws. The service does not trust the mirrors: it verifies each response. */
export interface Beacon {
  /**
   * Returns the public key and the timing of the configured beacon chain. For the chain quicknet these values are built in; for any other chain they
   * are requested from the mirrors once.
   * @throws 503 while no mirror answers
   */
  chain(): Promise<BeaconChain>;
  /** Reads the signature of a round from the mirrors and verifies it. Does not query the mirrors for a round in the future. */
  fetchRound(round: number): Promise<BeaconResult>;
}

/** The trusted beacon chain and the URLs of its mirrors. */
interface BeaconSettings {
  readonly urls: readonly string[];
  readonly chainHash: string;
  readonly publicKey: string;
}

/** Default timeouts. If none of eight mirrors (the maximum) responds, a query takes 7 × 0.7 s until the last mirror is queried, and then 4 s. */
const DEFAULT_TIMEOUTS: MirrorTimeouts = { timeoutMs: 4_000, hedgeAfterMs: 700 };

const RoundResponse = z.object({ round: z.int(), signature: z.string() });
const InfoResponse = z.object({
  public_key: z.string(),
  // Accepts only whole seconds, because the chain hash is computed from the period in whole seconds.
  period: z.int().min(1).max(86_400),
  genesis_time: z.int().min(0),
  groupHash: Hash,
  schemeID: z.literal(SCHEME),
  metadata: z.object({ beaconID: z.string().min(1).max(64) }),
});

const beacons = perApp((app) => openBeacon(app.config.chain.beacon, app.clock));

/** Returns the beacon of an application. */
export const beaconOf = (app: App): Beacon => app.state(beacons);

/** Opens the access to a beacon chain. Sends no request to a mirror before the first use. */
export function openBeacon({ urls, chainHash, publicKey }: BeaconSettings, clock: Clock, timeouts: MirrorTimeouts = DEFAULT_TIMEOUTS): Beacon {
  const mirrors = urls.map((url) => url.replace(/\/+$/, ''));
  let known: BeaconChain | null = chainHash === QUICKNET.chainHash ? QUICKNET : null;

  const readChain = async (): Promise<{ readonly chain: BeaconChain | null; readonly faults: readonly MirrorFault[] }> => {
    if (known) return { chain: known, faults: [] };
    const { answer, faults } = await queryMirrors(mirrors, `${chainHash}/info`, timeouts, (body) => chainOf(body, chainHash, publicKey));
    known ??= answer;
    return { chain: known, faults };
  };

  return {
    async chain() {
      const { chain, faults } = await readChain();
      if (chain) return chain;
      throw Object.assign(unavailable('the randomness beacon does not answer, try again', 2), { cause: faults });
    },
    async fetchRound(round) {
      if (!Number.isSafeInteger(round) || round < 1) throw new Error(`round must be a positive integer: ${round}`);
      const { chain, faults: chainFaults } = await readChain();
      if (!chain) return { state: 'unavailable', faults: chainFaults };
      const dueAt = new Date(timeOf(chain, round));
      if (clock.now() < dueAt) return { state: 'not-yet', dueAt };
      const result = await queryMirrors(mirrors, `${chainHash}/public/${round}`, timeouts, (body) => signatureOf(body, chain, round));
      const faults = [...chainFaults, ...result.faults];
      if (result.answer === null) return { state: 'unavailable', faults };
      return { state: 'verified', round, signature: result.answer, randomness: randomnessOf(result.answer), faults };
    },
  };
}

/**
 * Returns the beacon chain that a mirror describes. The description is trusted because its hash must equal `chainHash`.
 * @throws when the mirror describes another chain
 */
function chainOf(body: unknown, chainHash: string, publicKey: string): BeaconChain {
  const info = InfoResponse.safeParse(body);
  if (!info.success) throw new Error('the response is not a chain description of drand');
  const { period, genesis_time: genesisTime, groupHash, metadata } = info.data;
  const described = { period, genesisTime, publicKey: info.data.public_key, groupHash, beaconId: metadata.beaconID };
  if (described.publicKey !== publicKey || chainHashOf(described) !== chainHash) throw new Error('the mirror serves another beacon chain');
  return { chainHash, scheme: SCHEME, ...described };
}

/**
 * Returns the signature in a mirror's response after verifying it. The randomness in the response is ignored, because the caller derives it from the
 * signature.
 * @throws when the signature is not valid for the round
 */
function signatureOf(body: unknown, chain: BeaconChain, round: number): string {
  const response = RoundResponse.safeParse(body);
  if (!response.success) throw new Error('the response is not a round of the beacon');
  if (response.data.round !== round) throw new Error(`the response is for round ${response.data.round}, not for round ${round}`);
  if (!verifySignature(chain, round, response.data.signature)) throw new Error('the signature of the round is not valid');
  return response.data.signature;
}
