import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type BeaconChain, QUICKNET } from '#lib/draw/beacon-chain.ts';
import { RoundId } from '#lib/draw/bytes.ts';
import { LEAD_SEC, MARGIN_SEC } from '#lib/draw/parameters.ts';
import { decodeBase58 } from '#lib/scalars.ts';
import { openLedger } from './ledger.ts';
import { Misfit, Unreadable } from './published.ts';
import { type Committer, checkPayouts, checkRound, commitmentIn, committerOf } from './round-check.ts';
import { beaconAt, beaconOf, downloadKeys, downloadRound, isUncommitted, type Keys } from './round-published.ts';

const say = (line: string) => void process.stdout.write(`${line}\n`);
const complain = (line: string) => void process.stderr.write(`${line}\n`);

interface Asked {
  readonly base: string;
  readonly id: string;
  readonly rpc: string;
  readonly committer: string | undefined;
  readonly beacon: string | undefined;
  readonly leastLeadSec: number;
  readonly leastMarginSec: number;
}

/** Whose word is taken is said. */
async function beaconFor({ base, beacon }: Asked, keys: () => Promise<Keys>): Promise<BeaconChain> {
  if (beacon === undefined) return QUICKNET;
  if (beacon !== 'service') return await beaconAt(beacon);
  complain(`warning: which beacon decides is taken on the word of ${base}`);
  return await beaconOf(await keys());
}

/** The key that commits to rounds, and those that did before it, the oldest first. */
async function committersFor({ base, committer }: Asked, keys: () => Promise<Keys>): Promise<{ present: string; former: string[] }> {
  if (committer !== undefined) return { present: committer, former: [] };
  const { committer: present, formerCommitters: former } = await keys();
  if (present === null) throw new Unreadable(`${base} does not say who its committer is: --committer ADDRESS`);
  const before = former.length === 0 ? '' : `, and that ${former.join(', ')} was before,`;
  complain(`warning: that ${present} is the committer${before} is taken on the word of ${base}; --committer pins it`);
  return { present, former };
}

async function verify(asked: Asked): Promise<string> {
  const { base, id, leastLeadSec, leastMarginSec } = asked;
  let known: Promise<Keys> | undefined;
  const keys = () => {
    known ??= downloadKeys(base);
    return known;
  };
  const [beacon, { present, former }] = [await beaconFor(asked, keys), await committersFor(asked, keys)];
  let shown = await downloadRound(base, id);
  const ledger = openLedger(asked.rpc);
  const signedBy = async (key: string): Promise<Committer> => ({ key, memos: await ledger.memosOf(key) });
  const before: Committer[] = [];
  for (const key of former) before.push(await signedBy(key));
  const { key: committer, memos } = committerOf(before, await signedBy(present), id);
  const own = await commitmentIn(memos, id, ledger.begins);
  say(`${memos.length} memos of ${committer}, every commitment since the first: no gap, none twice, each names the one before`);
  if (own !== null && isUncommitted(shown.audit)) {
    // It has landed meanwhile; the service, too, sees it a moment later.
    await sleep(5_000);
    shown = await downloadRound(base, id);
  }
  const landed = own === null ? null : await ledger.landed(own, committer);
  const audit = checkRound(shown, { id, beacon, committer, landed, leastLeadSec, leastMarginSec }, say);
  if (shown.payouts !== null) await checkPayouts(shown.payouts, audit, ledger, say);
  if (audit.void !== null) return 'void';
  return audit.draw !== null ? 'finalized' : audit.commitment !== null ? 'committed, not drawn yet' : 'closing, not committed yet';
}

const USAGE = 'usage: bin/verify-round URL ID [--rpc URL] [--committer ADDRESS] [--beacon URL|service] [--least-lead SEC] [--least-margin SEC]';

function asked(): Asked | null {
  const text = { type: 'string' } as const;
  const options = { rpc: text, committer: text, beacon: text, 'least-lead': text, 'least-margin': text };
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const { rpc = process.env.SOLANA_RPC_URL ?? 'https://api.mainnet-beta.solana.com', committer, beacon } = values;
  const { 'least-lead': lead = String(LEAD_SEC), 'least-margin': margin = String(MARGIN_SEC) } = values;
  const [base = '', id = ''] = positionals;
  const isOne = positionals.length === 2 && URL.canParse(base) && RoundId.safeParse(id).success && URL.canParse(rpc);
  const isPinned = committer === undefined || decodeBase58(committer)?.length === 32;
  const isBeacon = beacon === undefined || beacon === 'service' || URL.canParse(beacon);
  const isTimed = [lead, margin].every((seconds) => /^\d{1,5}$/.test(seconds));
  if (!isOne || !isPinned || !isBeacon || !isTimed) return null;
  return { base, id, rpc, committer, beacon, leastLeadSec: Number(lead), leastMarginSec: Number(margin) };
}

/** Options that there are not are answered as wrong ones are. */
function read(): Asked | null {
  try {
    return asked();
  } catch {
    return null;
  }
}

async function main(): Promise<number> {
  const round = read();
  if (round === null) {
    complain(USAGE);
    return 2;
  }
  try {
    say(`round ${round.id} is what it says: ${await verify(round)}`);
    return 0;
  } catch (error) {
    if (error instanceof Misfit) {
      complain(`round ${round.id} does not fit: ${error.message}`);
      return 1;
    }
    if (!(error instanceof Unreadable)) throw error;
    complain(`round ${round.id} could not be checked: ${error.message}`);
    return 2;
  }
}

process.exitCode = await main();
