import { z } from 'zod';
import type { DrawsAccount } from '../../../src/lib/draw/accounts.ts';
import { type BeaconChain, chainHashOf, QUICKNET, SCHEME } from '../../../src/lib/draw/beacon-chain.ts';
import { verifySignature } from '../../../src/lib/draw/beacon-signature.ts';
import { checkBeaconFacts } from '../../../src/lib/draw/checks.ts';
import { demand, Lie, type Report, Unknown } from './report.ts';
import { type HttpSource, parseJson } from './sources.ts';

const MAX_BYTES = 16_384;
const Info = z.object({
  public_key: z.string().regex(/^[0-9a-f]{192}$/),
  period: z.int().min(1),
  genesis_time: z.int().min(0),
  groupHash: z.string().regex(/^[0-9a-f]{64}$/),
  schemeID: z.literal(SCHEME),
  metadata: z.object({ beaconID: z.string().max(64) }),
});
const RoundAnswer = z.object({ round: z.int(), signature: z.string() });

async function get<Shape extends z.ZodType>(source: HttpSource, path: string, shape: Shape): Promise<z.output<Shape>> {
  const answer = await source(path, MAX_BYTES).catch((error: unknown) => {
    throw new Unknown('beacon', `the beacon cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  });
  const parsed = shape.safeParse(parseJson(answer.text));
  if (answer.status !== 200 || !parsed.success) throw new Unknown('beacon', `the beacon answers ${path} with status ${answer.status}`);
  return parsed.data;
}

/** Reads the facts of a beacon chain. They are trusted because their hash is the hash of the chain. */
async function readFacts(source: HttpSource, chainHash: string): Promise<BeaconChain> {
  const { public_key: publicKey, period, genesis_time: genesisTime, groupHash, metadata } = await get(source, `/${chainHash}/info`, Info);
  const facts = { publicKey, period, genesisTime, groupHash, beaconId: metadata.beaconID };
  if (chainHashOf(facts) !== chainHash) throw new Unknown('beacon', `the beacon answers with another chain than ${chainHash}`);
  return { chainHash, scheme: SCHEME, ...facts };
}

/**
 * Returns the beacon chain of a draws account.
 * @param pinned hash of the chain that the verifier trusts. Without it only quicknet is trusted; a development account may name any chain
 */
export async function chooseBeacon(report: Report, source: HttpSource, draws: DrawsAccount, pinned: string | undefined): Promise<BeaconChain> {
  const { chainHash, isDevelopment } = draws;
  if (pinned !== undefined && pinned !== chainHash) throw new Lie('beacon', `the draws account names the beacon chain ${chainHash}, not ${pinned}`);
  const isKnown = chainHash === QUICKNET.chainHash;
  if (pinned === undefined && !isKnown) {
    if (!isDevelopment) throw new Unknown('beacon', `the draws account names the beacon chain ${chainHash}, which is not quicknet and not pinned`);
    report.word(`that the beacon chain ${chainHash} is independent of the house`);
  }
  const chain = isKnown ? QUICKNET : await readFacts(source, chainHash);
  demand('beacon', checkBeaconFacts(draws, chain));
  report.holds('beacon', `the draws account has the schedule of the beacon chain ${chainHash}`);
  return chain;
}

/** Returns whether a signature is valid. A chain that is not pinned may have a key that is no valid point; it has no valid signatures. */
function isSigned(chain: BeaconChain, round: number, signature: string): boolean {
  try {
    return verifySignature(chain, round, signature);
  } catch {
    return false;
  }
}

/** Reads the signature of a beacon round from the beacon and verifies it. */
export async function readSignature(report: Report, source: HttpSource, chain: BeaconChain, round: number): Promise<string> {
  const answer = await get(source, `/${chain.chainHash}/public/${round}`, RoundAnswer);
  if (answer.round !== round || !isSigned(chain, round, answer.signature))
    throw new Unknown('beacon', `the beacon answers no valid signature of round ${round}`);
  report.holds('randomness', `the signature of beacon round ${round} is valid`);
  return answer.signature;
}
