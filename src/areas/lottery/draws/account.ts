import type { DrawsAccount } from '#lib/draw/accounts.ts';
import { CLOCK_TOLERANCE_SEC, checkBeaconFacts } from '#lib/draw/checks.ts';
import { type HttpError, unavailable } from '#lib/errors.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import { type DrawsProgramState, decodeDraws, drawsProgramState } from '#platform/solana/draws/index.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { receiptKey } from '../receipts.ts';

/** The program of commitments, the draws account with the settings of all draws, and the cluster. */
export interface Draws {
  readonly program: Address;
  readonly address: Address;
  readonly account: DrawsAccount;
  /** Genesis hash of the cluster, base58. */
  readonly genesisHash: string;
}

/** Maximum age of the draws account in the cache, ms. Its founder can replace the committer at any time. */
const MAX_AGE_MS = 60_000;
/** Seconds after which a client may retry when the draws account does not match the configuration. */
const RETRY_AFTER_SEC = 60;

const checked = perApp((app) => ttlCache<'draws', Draws>(MAX_AGE_MS, () => checkDraws(app)));
/** These values never change, so each process reads them once. */
const constants = perApp((app) => ({
  genesis: ttlCache<'genesis', string>(Infinity, () => app.chain.node.genesisHash()),
  program: ttlCache<'program', 'ours'>(Infinity, () => requireProgram(app)),
}));

/**
 * Reads the draws account. It has been compared with the configuration, and the program with the committed file.
 * @throws 503 when the RPC node or the beacon does not answer, or when the program or the account is not the expected one
 */
export const readDraws = (app: App): Promise<Draws> => app.state(checked).get('draws');

async function checkDraws(app: App): Promise<Draws> {
  const { drawsProgramId: program, drawsAddress: address, node } = app.chain;
  const { genesis, program: ours } = app.state(constants);
  const [{ account: raw }, genesisHash, chain] = await Promise.all([
    node.account(address, 'finalized'),
    genesis.get('genesis'),
    beaconOf(app).chain(),
    ours.get('program'),
  ]);
  const account = decodeDraws(program, raw);
  if (account === null) throw mismatch(app, `${address} is not a draws account of program ${program}`);
  const beacon = checkBeaconFacts(account, chain);
  const fault = beacon === null ? findDifference(app, account) : `${beacon.where} ${beacon.reason}`;
  if (fault !== null) throw mismatch(app, `the draws account ${address} does not match the configuration: ${fault}`);
  return { program, address, account, genesisHash };
}

/** Returns the first difference between the draws account and the configuration, or null. */
function findDifference(app: App, { committer, receiptKey: key, isDevelopment, margin, window }: DrawsAccount): string | null {
  const { production, chain } = app.config;
  if (production && isDevelopment) return 'it is for development, and this is production';
  const own = chain.secrets.committer || chain.addresses.committer ? app.chain.address('committer').toBase58() : null;
  if (own !== null && own !== committer) return `its committer is ${committer}, but COMMITTER_KEY or COMMITTER_ADDRESS is ${own}`;
  const { publicKey } = receiptKey(app);
  if (key !== publicKey) return `its receipt key is ${key}, but the public key of RECEIPT_KEY is ${publicKey}`;
  const [shortest, longest] = isDevelopment ? [margin, margin + window] : [margin + 1, margin + window - CLOCK_TOLERANCE_SEC];
  const { leadSec } = chain.draws;
  return leadSec < shortest || leadSec > longest ? `DRAW_LEAD_SEC is ${leadSec}, but must be ${shortest} to ${longest}` : null;
}

const REFUSED: Readonly<Record<Exclude<DrawsProgramState, 'ours'>, string>> = {
  upgradeable: 'can be replaced, because it has an upgrade authority',
  differs: 'has other bytes than draws.so',
  missing: 'does not exist',
};

async function requireProgram(app: App): Promise<'ours'> {
  const program = app.chain.drawsProgramId;
  const state = await drawsProgramState(app.chain.node, program);
  if (state !== 'ours') throw mismatch(app, `the draws program ${program} ${REFUSED[state]}`);
  return state;
}

function mismatch(app: App, reason: string): HttpError {
  app.log.error({ reason }, 'no round can be started or committed until an operator corrects the draws account or the configuration');
  return unavailable(`rounds are not available: ${reason}`, RETRY_AFTER_SEC);
}
