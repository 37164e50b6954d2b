import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { programHash } from '#packages/verify/src/index.ts';
import { programDataAddress, readProgram } from '#packages/verify/src/program.ts';
import { addressOfBytes, type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import { type AccountReader, type EpochAccount, epochAddress, readEpoch, readerOf, TOKEN_PROGRAM, vaultAddress } from './epoch-chain.ts';
import { type Epoch, Unreadable, VerificationFailure } from './epoch-published.ts';

/** Addresses that the user of this tool specifies, so that the tool does not trust the addresses that the service reports. */
export interface Pinned {
  readonly program?: string;
  readonly authority?: string;
  readonly mint?: string;
}

type OnChain = NonNullable<Epoch['onChain']>;

/** The results of the checks: sentences about what holds, and the values that were taken on the service's word. */
export interface Findings {
  readonly lines: readonly string[];
  readonly words: readonly string[];
}

const PROGRAM_FILE = join(import.meta.dirname, '../../programs/distributor/distributor.so');
/** The clocks of the chain and of this machine may differ by this many seconds. */
const CLOCK_TOLERANCE_SEC = 3_600;

function assertEqual(name: string, found: unknown, reported: unknown): void {
  if (String(found) !== String(reported)) throw new VerificationFailure(`on the chain, ${name} is ${found}; the service reports ${reported}`);
}

/**
 * Compares an epoch with its account, the pages of its claims and its vault on the chain. The address of the account is derived from the addresses of
 * the program, the authority and the mint, and from the epoch number.
 * @param reported the account as reported by the service
 * @param amounts the amount of each leaf, in the order of the leaves
 * @throws VerificationFailure when a value differs; Unreadable when the node does not answer or the program is not known
 */
export async function checkAccount(epoch: Epoch, reported: OnChain, amounts: readonly bigint[], rpc: string, pinned: Pinned): Promise<Findings> {
  for (const [name, address] of Object.entries(pinned)) {
    const shown = Reflect.get(reported, name);
    if (shown !== address) throw new VerificationFailure(`the ${name} is ${shown}, not ${address}`);
  }
  const program = parseAddress(reported.program);
  const mint = parseAddress(reported.mint);
  const address = epochAddress(program, parseAddress(reported.authority), mint, epoch.epoch);
  const vault = vaultAddress(address, mint);
  assertEqual('the address of the epoch', address, reported.account);
  assertEqual('the address of the vault', vault, reported.vault);

  const reader = readerOf(rpc);
  const { epoch: found, vault: tokens, paid } = await readEpoch(reader, program, { address, vault }, amounts);
  compare(found, epoch, reported);
  if (paid !== null && paid.sum !== found.claimed)
    throw new VerificationFailure(`on the chain, the marked claims have a sum of ${paid.sum}, but ${found.claimed} is claimed`);
  if (paid !== null && paid.count < reported.claims)
    throw new VerificationFailure(`on the chain, ${paid.count} claims are marked; the service reports ${reported.claims}`);
  const lines = [
    `on the chain: ${address}, ${found.state}; ${found.claimed} of ${found.total} claimed`,
    paid === null
      ? 'claims: the epoch is closed, so its pages may be deleted'
      : `claims: ${paid.count} leaves are marked as paid, and their sum is the claimed amount`,
  ];
  if (found.state === 'open') lines.push(checkVault(found, tokens));
  else lines.push('vault: the unclaimed tokens went to the refund account of the epoch');
  return { lines: [...lines, await checkProgram(reader, reported.program)], words: wordsOf(reported, pinned) };
}

function compare(found: EpochAccount, epoch: Epoch, reported: OnChain): void {
  assertEqual('the number', found.epoch, epoch.epoch);
  assertEqual('the root', found.root, epoch.root);
  assertEqual('the total', found.total, epoch.total);
  assertEqual('the number of leaves', found.leaves, epoch.leaves);
  assertEqual('the authority', found.authority, reported.authority);
  assertEqual('the mint', found.mint, reported.mint);
  assertEqual('the vault', found.vault, reported.vault);
  assertEqual('the expiry', found.expiry, epoch.expiresAt === null ? null : Date.parse(epoch.expiresAt) / 1_000);
  const now = Date.now() / 1_000;
  if (!allowedStates(found, epoch, now).includes(found.state))
    throw new VerificationFailure(`on the chain, the epoch is ${found.state}; the service reports ${epoch.status}`);
  if (epoch.status === 'expired' && found.expiry > now + CLOCK_TOLERANCE_SEC)
    throw new VerificationFailure(`the service reports expired, but claims are possible until ${epoch.expiresAt}`);
  // The service may have read the account earlier than this tool, so the claimed amount on the chain may be equal or higher; a lower amount is a
  // fault.
  if (found.claimed < reported.claimed)
    throw new VerificationFailure(`on the chain, ${found.claimed} is claimed; the service reports ${reported.claimed}`);
}

/** Returns the states of the account that fit the status that the service reports. */
function allowedStates({ expiry }: EpochAccount, { status, settleRequestedAt }: Epoch, now: number): readonly EpochAccount['state'][] {
  const ended = settleRequestedAt === null ? [] : (['settled', 'closed'] as const);
  // Anybody may close an expired epoch, also before the service notices the expiry.
  const expired = expiry < now + CLOCK_TOLERANCE_SEC ? (['closed'] as const) : [];
  if (status === 'settled') return ['settled', 'closed'];
  return status === 'committed' || status === 'expired' ? ['open', ...expired, ...ended] : [];
}

/** Checks that the vault of an open epoch holds all tokens that are not claimed. */
function checkVault({ address, total, claimed, mint }: EpochAccount, vault: FetchedAccount | undefined): string {
  const isVault =
    vault?.owner.equals(TOKEN_PROGRAM) === true &&
    vault.data.length === 165 &&
    addressOfBytes(vault.data.subarray(0, 32)).toBase58() === mint &&
    vault.data.subarray(32, 64).equals(address.toBytes());
  if (!isVault) throw new VerificationFailure('on the chain, the vault is not the token account of the epoch');
  const held = vault.data.readBigUInt64LE(64);
  if (held < total - claimed) throw new VerificationFailure(`on the chain, the vault holds ${held}, but ${total - claimed} are not claimed`);
  return `vault: it holds ${held}, at least the ${total - claimed} that are not claimed`;
}

/** Checks that the program is the known one. Whether somebody can replace it is said, because a multisig may have this right. */
async function checkProgram(reader: AccountReader, program: string): Promise<string> {
  const [code, data] = await reader([parseAddress(program), parseAddress(programDataAddress(program))]);
  const account = (one: FetchedAccount | undefined) => (one ? { owner: one.owner.toBase58(), data: one.data } : null);
  const deployed = readProgram(program, account(code), account(data));
  const known = programHash(readFileSync(PROGRAM_FILE));
  if (deployed?.hash !== known) throw new Unreadable(`the program ${program} has the hash ${deployed?.hash ?? '(no program)'}, not ${known}`);
  return `program: ${program} is known, and ${deployed.isUpgradeable ? 'its upgrade authority can replace it' : 'nobody can replace it'}`;
}

const wordsOf = (reported: OnChain, pinned: Pinned): string[] =>
  (['program', 'authority', 'mint'] as const)
    .filter((name) => pinned[name] === undefined)
    .map((name) => `the address of the ${name}, ${reported[name]}`);
