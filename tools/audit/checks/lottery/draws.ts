import { systemClock } from '#lib/clock.ts';
import type { DrawsAccount } from '#lib/draw/accounts.ts';
import { Audit as DrawAudit, type LandedCommitment } from '#lib/draw/audit.ts';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';
import { instantOf } from '#lib/draw/bytes.ts';
import { type Entry, entryLeaves } from '#lib/draw/entry.ts';
import { verifyAudit } from '#lib/draw/verify.ts';
import { instant } from '#platform/db/sql.ts';
import { openBeacon } from '#platform/solana/beacon/beacon.ts';
import { commitmentAddress, decodeCommitment, decodeDraws } from '#platform/solana/draws/index.ts';
import { type AuditContext, type Check, DifferenceList } from '../../check.ts';

interface Round {
  readonly id: string;
  readonly state: 'finalized' | 'void';
  /** The public audit of the round (the published data that prove its result) as JSON. */
  readonly audit: string;
  /** The stored hash of the commitment's block; null without a commitment. */
  readonly blockhash: string | null;
  /** Level 0 of the stored tree: the leaves of the entries; null without a tree. */
  readonly leaves: Buffer | null;
  readonly winners: readonly { place: number; index: number; wallet: string; matches: number | null; amount: string }[];
}

const SELECT_IDS = (limit: string) =>
  `select id::text from rounds where state in ('finalized', 'void') and audit is not null order by ended_at desc, id limit ${limit}`;
const SELECT_ROUND = `
  select r.id::text, r.state, r.audit, c.blockhash, l.nodes as leaves,
    (select coalesce(json_agg(json_build_object('place', w.place, 'index', w.index, 'wallet', w.wallet, 'matches', w.matches, 'amount', w.amount::text) order by w.place), '[]')
     from round_winners w where w.round = r.id) as winners
  from rounds r left join commitments c on c.round = r.id left join round_levels l on l.round = r.id and l.level = 0 where r.id = $1`;
const SELECT_ENTRIES = `
  select index, wallet, numbers, source, message_id as "messageId", ${instant('at')} as at
  from entries where round = $1 and index >= $2 order by index limit 10000`;

async function entriesOf({ db }: AuditContext, round: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (;;) {
    const page = await db.query<Entry>({ text: SELECT_ENTRIES }, [round, entries.length]);
    entries.push(...page);
    if (page.length === 0) return entries;
  }
}

/** The draws account on the chain, its address, and the beacon chain of the configuration. */
interface Anchors {
  readonly draws: DrawsAccount & { readonly address: string };
  readonly beacon: BeaconChain;
}

async function readAnchors({ chain, config }: AuditContext): Promise<Anchors> {
  const { drawsProgramId, drawsAddress, node } = chain;
  const [{ account }, beacon] = await Promise.all([node.account(drawsAddress, 'finalized'), openBeacon(config.chain.beacon, systemClock(0)).chain()]);
  const draws = decodeDraws(drawsProgramId, account);
  if (draws === null) throw new Error(`${drawsAddress} is not a draws account of program ${drawsProgramId}`);
  return { draws: { ...draws, address: drawsAddress.toBase58() }, beacon };
}

/** Reads the commitment account of a round. Takes the stored blockhash when the RPC node no longer has the block. */
async function readLanded({ chain }: AuditContext, { id, blockhash: stored }: Round): Promise<LandedCommitment | null> {
  const { drawsProgramId, drawsAddress, node } = chain;
  const address = commitmentAddress(drawsProgramId, drawsAddress, id);
  const found = decodeCommitment(drawsProgramId, (await node.account(address, 'finalized')).account);
  if (found === null) return null;
  const { beaconRound, slot, time, leaf } = found;
  const blockhash = (await node.block(slot).catch(() => null))?.blockhash ?? stored;
  return { account: address.toBase58(), beaconRound, slot, at: instantOf(time * 1_000), leaf, blockhash };
}

/**
 * Verifies a round against its public audit (the published data that prove its result) and the chain. Returns the first fault as a sentence, or null
 * when the round is correct.
 */
function findFault(round: Round, entries: readonly Entry[], anchors: Anchors, landed: LandedCommitment | null): string | null {
  const parsed = DrawAudit.safeParse(JSON.parse(round.audit));
  if (!parsed.success) return `its audit does not match the schema at ${parsed.error.issues[0]?.path.join('.')}`;
  const audit = parsed.data;
  if (audit.round !== round.id) return `its audit belongs to round ${audit.round}`;
  const verdict = verifyAudit(audit, entries, { ...anchors, landed });
  if (!verdict.ok) return `${verdict.where}: ${verdict.reason}`;
  if (verdict.state !== round.state) return `it is ${round.state}, but its audit says ${verdict.state}`;
  if (landed !== null && round.blockhash !== landed.blockhash) return `its block is ${landed.blockhash}, but the database has ${round.blockhash}`;
  if (!Buffer.from(entryLeaves(round.id, entries)).equals(round.leaves ?? Buffer.alloc(0)))
    return 'its stored tree has other leaves than its entries';
  const due = (audit.winners ?? []).filter(({ prize }) => prize.amount !== '0');
  const shown = (winners: readonly (Round['winners'][number] | (typeof due)[number])[]) =>
    winners.map((w) => `${w.place}: ${w.wallet} by ${w.index}, ${w.matches}, ${'prize' in w ? w.prize.amount : w.amount}`).join('; ');
  return shown(due) === shown(round.winners)
    ? null
    : `its audit has the winners ${shown(due) || 'none'}, but the database has ${shown(round.winners) || 'none'}`;
}

/**
 * Verifies only the newest finished rounds, because finished rounds never change and earlier audits verified the older rounds. Keeps the entries of
 * only one round in memory.
 */
export const draws: Check = {
  name: 'draws',
  invariant: 'a finished round can be recomputed from its public audit, its entries and its commitment account on the chain',
  live: true,
  async run(audit) {
    const found = new DifferenceList();
    const ids = await audit.db.query<{ id: string }>({ text: SELECT_IDS(audit.scope.all ? 'all' : String(Math.trunc(audit.scope.rounds))) });
    if (ids.length === 0) return found;
    const anchors = await readAnchors(audit);
    for (const { id } of ids) {
      const [round] = await audit.db.query<Round>({ text: SELECT_ROUND }, [id]);
      const fault = round ? findFault(round, await entriesOf(audit, id), anchors, await readLanded(audit, round)) : 'it was deleted during the check';
      if (fault !== null) found.add(`round ${id}: ${fault}`);
    }
    return found;
  },
};
