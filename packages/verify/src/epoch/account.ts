import type { Account, Chain } from '../chain.ts';
import { KNOWN_DISTRIBUTOR } from '../known-program.ts';
import { programDataAddress, readProgram } from '../program.ts';
import { Lie, type Report, Unknown } from '../report.ts';
import { type EpochAccount, epochAddress, hasAddress, type PaidClaims, readEpoch, TOKEN_PROGRAM, vaultAddress } from './chain.ts';
import type { Epoch } from './published.ts';

/** Addresses that the user of the verifier knows from another source, so that the verifier does not trust the addresses that the service reports. */
export interface EpochPins {
  readonly program?: string | undefined;
  readonly authority?: string | undefined;
  readonly mint?: string | undefined;
}

type OnChain = NonNullable<Epoch['onChain']>;

/** The clocks of the chain and of this machine may differ by this many seconds. */
const CLOCK_TOLERANCE_SEC = 3_600;

function assertEqual(name: string, found: unknown, reported: unknown): void {
  if (String(found) !== String(reported)) throw new Lie('account', `on the chain, ${name} is ${found}; the service reports ${reported}`);
}

/**
 * Compares an epoch with its account, the pages of its claims and its vault on the chain. The address of the account is derived from the addresses of
 * the program, the authority and the mint, and from the epoch number.
 * @param reported the account as reported by the service
 * @param amounts the amount of each leaf, in the order of the leaves
 * @throws Lie when a value differs; Unknown when the node does not answer
 */
export async function checkAccount(
  { report, chain, pins }: { readonly report: Report; readonly chain: Chain; readonly pins: EpochPins },
  epoch: Epoch,
  reported: OnChain,
  amounts: readonly bigint[],
): Promise<void> {
  for (const [name, address] of Object.entries(pins)) {
    const shown = Reflect.get(reported, name);
    if (address !== undefined && shown !== address) throw new Lie('account', `the ${name} is ${shown}, not ${address}`);
  }
  const { program, authority, mint } = reported;
  const address = epochAddress(program, authority, mint, epoch.epoch);
  const vault = vaultAddress(address, mint);
  assertEqual('the address of the epoch', address, reported.account);
  assertEqual('the address of the vault', vault, reported.vault);

  const { epoch: found, vault: tokens, paid } = await readEpoch(chain.accounts, program, { address, vault }, amounts);
  compare(found, epoch, reported);
  report.holds('account', `on the chain: ${address}, ${found.state}; ${found.claimed} of ${found.total} claimed`);
  checkClaims(report, found, paid, reported.claims);
  if (found.state === 'open') report.holds('vault', checkVault(found, tokens));
  else report.holds('vault', 'vault: the unclaimed tokens went to the refund account of the epoch');
  for (const name of ['program', 'authority', 'mint'] as const)
    if (pins[name] === undefined) report.word(`the address of the ${name}, ${reported[name]}`);
  await checkProgram(report, chain, program);
}

function checkClaims(report: Report, { claimed }: EpochAccount, paid: PaidClaims | null, reported: number): void {
  if (paid === null) {
    report.word('which leaves were claimed: the epoch is closed, so the pages of its claims may be deleted');
    return;
  }
  if (paid.sum !== claimed) throw new Lie('claims', `on the chain, the marked claims have a sum of ${paid.sum}, but ${claimed} is claimed`);
  if (paid.count < reported) throw new Lie('claims', `on the chain, ${paid.count} claims are marked; the service reports ${reported}`);
  report.holds('claims', `claims: ${paid.count} leaves are marked as paid, and their sum is the claimed amount`);
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
    throw new Lie('account', `on the chain, the epoch is ${found.state}; the service reports ${epoch.status}`);
  if (epoch.status === 'expired' && found.expiry > now + CLOCK_TOLERANCE_SEC)
    throw new Lie('account', `the service reports expired, but claims are possible until ${epoch.expiresAt}`);
  // The service may have read the account earlier than this tool, so the claimed amount on the chain may be equal or higher; a lower amount is a
  // fault.
  if (found.claimed < reported.claimed)
    throw new Lie('account', `on the chain, ${found.claimed} is claimed; the service reports ${reported.claimed}`);
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
function checkVault({ address, total, claimed, mint }: EpochAccount, vault: Account | null): string {
  const isVault =
    vault?.owner === TOKEN_PROGRAM && vault.data.length === 165 && hasAddress(vault.data, 0, mint) && hasAddress(vault.data, 32, address);
  if (!isVault) throw new Lie('vault', 'on the chain, the vault is not the token account of the epoch');
  const { buffer, byteOffset } = vault.data;
  const held = new DataView(buffer, byteOffset).getBigUint64(64, true);
  if (held < total - claimed) throw new Lie('vault', `on the chain, the vault holds ${held}, but ${total - claimed} are not claimed`);
  return `vault: it holds ${held}, at least the ${total - claimed} that are not claimed`;
}

/** Checks that the program is the known one. Whether somebody can replace it is said, because a multisig may have this right. */
async function checkProgram(report: Report, chain: Chain, program: string): Promise<void> {
  const [code = null, data = null] = await chain.accounts([program, programDataAddress(program)]);
  const deployed = readProgram(program, code, data);
  if (deployed?.hash !== KNOWN_DISTRIBUTOR)
    throw new Unknown('program', `the program ${program} has the hash ${deployed?.hash ?? '(no program)'}, not ${KNOWN_DISTRIBUTOR}`);
  const right = deployed.isUpgradeable ? 'its upgrade authority can replace it' : 'nobody can replace it';
  report.holds('program', `program: ${program} is known, and ${right}`);
}
