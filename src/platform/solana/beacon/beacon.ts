import { z } from 'zod';
import type { Clock } from '#lib/clock.ts';
import { type BeaconChain, chainHashOf, QUICKNET, SCHEME, timeOf } from '#lib/draw/beacon-chain.ts';
import { Hash } from '#lib/draw/bytes.ts';
import { randomnessOf } from '#lib/draw/seed.ts';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { askMirrors, type MirrorFault, type MirrorTimeouts } from './mirrors.ts';
import { verifySignature } from './signature.ts';

export { firstRoundFrom, isInTime, roundAt, roundToCommit, timeOf } from '#lib/draw/beacon-chain.ts';
export { randomnessOf } from '#lib/draw/seed.ts';
export type { MirrorFault } from './mirrors.ts';
export { verifySignature } from './signature.ts';

/** What became of asking for a round. `faults` is what mirrors said that was of no use: for logs. */
export type BeaconAnswer =
  /** Its signature, verified, and the randomness that follows from it: hex. */
  | {
      readonly state: 'verified';
      readonly round: number;
      readonly signature: string;
      readonly randomness: string;
      readonly faults: readonly MirrorFault[];
    }
  /** Its time has not come; nobody was asked. */
  | { readonly state: 'not-yet'; readonly dueAt: Date }
  /** No mirror has a signature that verifies. Ask again later: there is no other source. */
  | { readonly state: 'unavailable'; readonly faults: readonly MirrorFault[] };

/** The beacon that draws wait for. Mirrors only supply bytes: what they say is verified here. */
export interface Beacon {
  /** Its key and its times; asks the mirrors once where they are not pinned. @throws 503 while they cannot be had */
  chain(): Promise<BeaconChain>;
  /** A round's signature, as soon as its time has come. */
  ask(round: number): Promise<BeaconAnswer>;
}

/** Which chain is trusted, and where it may be asked. */
export interface BeaconSettings {
  readonly urls: readonly string[];
  readonly chainHash: string;
  readonly publicKey: string;
}

/** Eight mirrors that all hang take 4 + 7 × 0.7 s. */
const PATIENCE: MirrorTimeouts = { withinMs: 4_000, nextAfterMs: 700 };

const Round = z.object({ round: z.int(), signature: z.string() });
const Info = z.object({
  public_key: z.string(),
  // The hash holds whole seconds only.
  period: z.int().min(1).max(86_400),
  genesis_time: z.int().min(0),
  groupHash: Hash,
  schemeID: z.literal(SCHEME),
  metadata: z.object({ beaconID: z.string().min(1).max(64) }),
});

const opened = new WeakMap<App, Beacon>();

/** The beacon of a process. */
export function beaconOf(app: App): Beacon {
  const known = opened.get(app) ?? openBeacon(app.config.chain.beacon, app.clock);
  opened.set(app, known);
  return known;
}

/** Opens a beacon. Opening it asks nobody. */
export function openBeacon({ urls, chainHash, publicKey }: BeaconSettings, clock: Clock, patience: MirrorTimeouts = PATIENCE): Beacon {
  const mirrors = urls.map((url) => url.replace(/\/+$/, ''));
  let known: BeaconChain | null = chainHash === QUICKNET.chainHash ? QUICKNET : null;

  const readChain = async (): Promise<{ readonly chain: BeaconChain | null; readonly faults: readonly MirrorFault[] }> => {
    if (known) return { chain: known, faults: [] };
    const { answer, faults } = await askMirrors(mirrors, `${chainHash}/info`, patience, (body) => chainOf(body, chainHash, publicKey));
    known ??= answer;
    return { chain: known, faults };
  };

  return {
    async chain() {
      const { chain, faults } = await readChain();
      if (chain) return chain;
      throw Object.assign(unavailable('the randomness beacon cannot be read at the moment, try again', 2), { cause: faults });
    },
    async ask(round) {
      if (!Number.isSafeInteger(round) || round < 1) throw new Error(`rounds are counted from 1: ${round}`);
      const { chain, faults: atFirst } = await readChain();
      if (!chain) return { state: 'unavailable', faults: atFirst };
      const dueAt = new Date(timeOf(chain, round));
      if (clock.now() < dueAt) return { state: 'not-yet', dueAt };
      const asked = await askMirrors(mirrors, `${chainHash}/public/${round}`, patience, (body) => signatureOf(body, chain, round));
      const faults = [...atFirst, ...asked.faults];
      if (asked.answer === null) return { state: 'unavailable', faults };
      return { state: 'verified', round, signature: asked.answer, randomness: randomnessOf(asked.answer), faults };
    },
  };
}

/** What a mirror says of its chain, if that is the chain: the hash says so, for it holds all the rest. */
function chainOf(body: unknown, chainHash: string, publicKey: string): BeaconChain {
  const info = Info.safeParse(body);
  if (!info.success) throw new Error('described its chain in a way that drand does not');
  const { period, genesis_time: genesisTime, groupHash, metadata } = info.data;
  const said = { period, genesisTime, publicKey: info.data.public_key, groupHash, beaconId: metadata.beaconID };
  if (said.publicKey !== publicKey || chainHashOf(said) !== chainHash) throw new Error('described another chain');
  return { chainHash, scheme: SCHEME, ...said };
}

/** The signature that a mirror answered with, if it is that of the round. What it says of the randomness is not looked at. */
function signatureOf(body: unknown, chain: BeaconChain, round: number): string {
  const said = Round.safeParse(body);
  if (!said.success) throw new Error('answered with what is no round');
  if (said.data.round !== round) throw new Error(`answered with round ${said.data.round}`);
  if (!verifySignature(chain, round, said.data.signature)) throw new Error('answered with a signature that does not verify');
  return said.data.signature;
}
