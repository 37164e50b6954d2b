import { Audit as DrawAudit, type LandedCommitment } from '#lib/draw/audit.ts';
import { QUICKNET } from '#lib/draw/beacon-chain.ts';
import type { Entry } from '#lib/draw/entry.ts';
import { LEAD_SEC, MARGIN_SEC } from '#lib/draw/parameters.ts';
import { verifyRound } from '#lib/draw/verify.ts';
import { instant } from '#platform/db/sql.ts';
import { verifySignature } from '#platform/solana/beacon/index.ts';
import { type AuditContext, type Check, DifferenceList } from '../check.ts';

interface Round {
  readonly id: string;
  readonly state: 'finalized' | 'void';
  /**
   * The public audit of the round (the published data that prove its result) as JSON, without the hashes of the entries. The database stores these
   * hashes as level 0 of the Merkle tree.
   */
  readonly audit: string;
  readonly leaves: Buffer | null;
  readonly landed: LandedCommitment | null;
  readonly winners: readonly { place: number; index: number; wallet: string; matches: number | null; amount: string }[];
}

const SELECT_IDS = (limit: string) =>
  `select id::text from rounds where state in ('finalized', 'void') and audit is not null order by ended_at desc, id limit ${limit}`;
const SELECT_ROUND = `
  select r.id::text, r.state, r.audit, l.nodes as leaves,
    case when c.memo is not null then json_build_object('memo', c.memo, 'committer', c.committer, 'signature', c.signature, 'slot', c.slot,
      'blockhash', c.blockhash, 'blockTime', ${instant('c.block_time')}) end as landed,
    (select coalesce(json_agg(json_build_object('place', w.place, 'index', w.index, 'wallet', w.wallet, 'matches', w.matches, 'amount', w.amount::text) order by w.place), '[]')
     from round_winners w where w.round = r.id) as winners
  from rounds r left join round_levels l on l.round = r.id and l.level = 0 left join commitments c on c.round = r.id where r.id = $1`;
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

function hashesOf(leaves: Buffer | null): string[] {
  const hex = leaves?.toString('hex') ?? '';
  return Array.from({ length: hex.length / 64 }, (_, i) => hex.slice(64 * i, 64 * i + 64));
}

/**
 * Verifies a round against its public audit (the published data that prove its result). Returns the first fault as a sentence, or null when the round
 * is correct.
 */
function findFault({ config }: AuditContext, round: Round, entries: readonly Entry[]): string | null {
  const parsed = DrawAudit.safeParse({ ...JSON.parse(round.audit), entryHashes: hashesOf(round.leaves) });
  if (!parsed.success) return `its audit does not match the schema at ${parsed.error.issues[0]?.path.join('.')}`;
  const audit = parsed.data;
  const { beacon: pinned, draws } = config.chain;
  if (audit.round !== round.id) return `its audit belongs to round ${audit.round}`;
  if (audit.beacon !== null && (audit.beacon.chainHash !== pinned.chainHash || audit.beacon.publicKey !== pinned.publicKey)) {
    return `it was drawn with beacon chain ${audit.beacon.chainHash}, but DRAND_CHAIN_HASH is ${pinned.chainHash}`;
  }
  if (audit.commitment !== null && round.landed === null) return 'its commitment is missing in the database';
  // A round without a commitment has no beacon. `verifyRound` accepts any beacon chain for this round, so QUICKNET is only a placeholder.
  const beacon = audit.beacon ?? QUICKNET;
  const minimum = { minLeadSec: Math.min(LEAD_SEC, draws.leadSec), minMarginSec: Math.min(MARGIN_SEC, draws.marginSec) };
  // Takes the public key of the committer (the service's signer of commitments) from the stored commitment, because the key in the configuration may
  // be a newer one.
  const committer = round.landed?.committer ?? '';
  const verdict = verifyRound(audit, entries, { beacon, verifySignature, committer, landed: round.landed, ...minimum });
  if (!verdict.ok) return `${verdict.where}: ${verdict.reason}`;
  if (verdict.state !== round.state) return `it is ${round.state}, but its audit says ${verdict.state}`;
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
  invariant: 'a finished round can be recomputed from its public audit and its entries alone',
  live: true,
  async run(audit) {
    const found = new DifferenceList();
    const ids = await audit.db.query<{ id: string }>({ text: SELECT_IDS(audit.scope.all ? 'all' : String(Math.trunc(audit.scope.rounds))) });
    for (const { id } of ids) {
      const [round] = await audit.db.query<Round>({ text: SELECT_ROUND }, [id]);
      const fault = round ? findFault(audit, round, await entriesOf(audit, id)) : 'it was deleted during the check';
      if (fault !== null) found.add(`round ${id}: ${fault}`);
    }
    return found;
  },
};
