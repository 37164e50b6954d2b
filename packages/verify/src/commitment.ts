import { commitmentAddress, type DrawsAccount, decodeCommitment, decodeDraws, drawsAddress } from '../../../src/lib/draw/accounts.ts';
import type { LandedCommitment } from '../../../src/lib/draw/audit.ts';
import { type BeaconChain, timeOf } from '../../../src/lib/draw/beacon-chain.ts';
import { instantOf } from '../../../src/lib/draw/bytes.ts';
import type { Account, Block, Chain } from './chain.ts';
import type { Context, OnChain } from './known.ts';
import { programDataAddress, readProgram } from './program.ts';
import { Lie, type Report, Unknown } from './report.ts';

/** Nominal duration of a slot, seconds, and the number of slots that must lie between a commitment and its beacon round. */
const SLOT_SEC = 0.4;
const MIN_SLOTS = 100;
/** How many consecutive slots may have no block. */
const MAX_SKIPPED = 64;

/** Reads the draws account, the program and the commitment of a round, all at finalized. */
export async function readOnChain(context: Context, address: string, knownProgram: string): Promise<OnChain> {
  const { report, chain, id: round } = context;
  const read = async () => (await chain.accounts([address]))[0] ?? null;
  const first = (await read()) ?? (await awaitNode(context).then(read));
  if (first === null) throw new Lie('draws', `there is no draws account ${address} on the chain`);
  const program = first.owner;
  const { address: commitment } = commitmentAddress(program, address, round);
  const [again = null, code = null, bytes = null, committed = null] = await chain.accounts([
    address,
    program,
    programDataAddress(program),
    commitment,
  ]);
  if (again?.owner !== program) throw new Unknown('draws', 'the owner of the draws account changed while it was read');
  const account = decodeDraws(again.data);
  if (account === null) throw new Lie('draws', `the account ${address} is not a draws account`);
  const derived = drawsAddress(program, account.founder);
  if (derived.address !== address || derived.bump !== account.bump) throw new Lie('draws', `${address} is not the draws account of its founder`);
  const decoded = readCommitment(committed, program, commitment, { address, round });
  checkProgram(report, { program, code, bytes, knownProgram, commitmentSlot: decoded?.slot ?? null });
  return { program, draws: { ...account, address }, commitment: decoded };
}

function readCommitment(
  account: Account | null,
  program: string,
  address: string,
  { address: draws, round }: { address: string; round: string },
): OnChain['commitment'] {
  // Anybody can send lamports to the address of a future commitment. The program does not own such an account.
  if (account?.owner !== program) return null;
  const decoded = decodeCommitment(account.data);
  if (decoded === null || decoded.draws !== draws || decoded.round !== round)
    throw new Lie('commitment', `the account ${address} is not the commitment of this round`);
  return { ...decoded, address };
}

interface ProgramToCheck {
  readonly program: string;
  readonly code: Account | null;
  readonly bytes: Account | null;
  readonly knownProgram: string;
  readonly commitmentSlot: number | null;
}

function checkProgram(report: Report, toCheck: ProgramToCheck): void {
  const fault = programFault(toCheck);
  if (fault === null) report.holds('program', `the program ${toCheck.program} is known, and nobody can replace it`);
  else report.unknown('program', `the program ${toCheck.program} ${fault}`);
}

function programFault({ program, code, bytes, knownProgram, commitmentSlot }: ProgramToCheck): string | null {
  const deployed = readProgram(program, code, bytes);
  if (deployed === null) return 'cannot be read';
  if (deployed.hash !== knownProgram) return `has the hash ${deployed.hash}, not ${knownProgram}`;
  if (deployed.isUpgradeable) return 'can be replaced: it has an upgrade authority';
  const isLater = commitmentSlot !== null && deployed.deployedIn !== null && deployed.deployedIn > commitmentSlot;
  return isLater ? 'was deployed after the commitment' : null;
}

/**
 * Reads the blockhash of the commitment and checks that the chain’s clock ran normally until the time of the beacon round.
 * @param isOut whether the beacon round is published
 */
export async function readLanded(
  report: Report,
  chain: Chain,
  { commitment, draws }: { readonly commitment: NonNullable<OnChain['commitment']>; readonly draws: DrawsAccount },
  beacon: BeaconChain,
  isOut: boolean,
): Promise<LandedCommitment> {
  const { address: account, beaconRound, slot, time, leaf } = commitment;
  const block = await chain.block(slot);
  if (block === null) throw new Unknown('block', `the node has no block for slot ${slot}, in which the commitment was made`);
  report.holds('commitment', `the commitment was made in slot ${slot} at ${instantOf(time * 1_000)} and names beacon round ${beaconRound}`);
  if (isOut && !draws.isDevelopment) await checkClock(report, chain, block, timeOf(beacon, beaconRound) / 1_000);
  return { account, beaconRound, slot, at: instantOf(time * 1_000), leaf, blockhash: block.blockhash };
}

/** Returns the first block from a slot on. */
async function blockFrom(chain: Chain, slot: number): Promise<Block> {
  for (let at = slot; at < slot + MAX_SKIPPED; at++) {
    const block = await chain.block(at);
    if (block !== null) return block;
  }
  throw new Unknown('clock', `the node has no blocks from slot ${slot} on`);
}

async function checkClock(report: Report, chain: Chain, from: Block, drawnAt: number): Promise<void> {
  const near = await blockFrom(chain, from.slot + MIN_SLOTS);
  const ahead = Math.max(MIN_SLOTS, Math.floor((drawnAt - from.time) / SLOT_SEC));
  // Slots may take longer than nominal, so that the second block does not exist yet. Then the first one decides alone.
  const far = await blockFrom(chain, from.slot + ahead).catch(() => near);
  // Block times are whole seconds.
  const fast = [near, far].find(({ slot, time }) => time - from.time > 2 * SLOT_SEC * (slot - from.slot) + 1);
  if (near.time > drawnAt) report.unknown('clock', `fewer than ${MIN_SLOTS} slots lie between the commitment and the beacon round`);
  else if (fast) report.unknown('clock', `the chain’s clock advanced ${fast.time - from.time} s in ${fast.slot - from.slot} slots`);
  else report.holds('clock', 'the chain’s clock ran normally between the commitment and the beacon round');
}

/** Reports that something is not on the chain only after the node had this long to receive it, ms, and is at most this far behind, ms. */
const PATIENCE_MS = 20_000;
const MAX_BEHIND_MS = 60_000;

/** Waits, so that a node that is a little behind the house’s node is not the reason of a claim. @throws Unknown when the node is far behind */
export async function awaitNode({ chain, now, wait }: Pick<Context, 'chain' | 'now' | 'wait'>): Promise<void> {
  await wait(PATIENCE_MS);
  const { time } = await chain.latest();
  if (time * 1_000 < now - MAX_BEHIND_MS) throw new Unknown('rpc', `the last finalized block of the node is of ${instantOf(time * 1_000)}`);
}

/** Confirms that a round has no commitment. @throws Unknown when it has one in the meantime */
export async function confirmMissing(context: Context, program: string, draws: string, round: string): Promise<void> {
  await awaitNode(context);
  const [account = null] = await context.chain.accounts([commitmentAddress(program, draws, round).address]);
  if (account?.owner === program) throw new Unknown('commitment', 'the round was committed during the verification; verify it again');
}
