import { type AccountInfo, Connection, PublicKey } from '@solana/web3.js';
import { type Epoch, Misfit, Unreadable } from './published.ts';

/** What the caller knows of the service by other ways. */
export interface Pinned {
  readonly program?: string;
  readonly authority?: string;
  readonly mint?: string;
}

type OnChain = NonNullable<Epoch['onChain']>;

const TOKEN_PROGRAM = new PublicKey('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const ASSOCIATED_TOKEN_PROGRAM = new PublicKey('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const STATES: Readonly<Record<number, string>> = { 1: 'open', 2: 'settled', 3: 'closed' };
/** What an epoch's account may be while the service says this. */
const STATES_OF: Readonly<Record<string, readonly string[]>> = {
  committed: ['open'],
  expired: ['open', 'closed'],
  settled: ['settled', 'closed'],
};

function expect(what: string, found: unknown, said: unknown): void {
  if (String(found) !== String(said)) throw new Misfit(`on the chain, ${what} is ${found}; the service says ${said}`);
}

/** The account's 240 bytes, as the program's README lays them out. */
function decode(data: Buffer) {
  const key = (at: number) => new PublicKey(data.subarray(at, at + 32)).toBase58();
  return {
    tag: data.toString('latin1', 0, 8),
    version: data.readUInt8(8),
    state: STATES[data.readUInt8(9)] ?? 'unknown',
    leaves: data.readUInt32LE(12),
    epoch: data.readBigUInt64LE(16),
    total: data.readBigUInt64LE(24),
    claimed: data.readBigUInt64LE(32),
    expiry: Number(data.readBigInt64LE(40)),
    root: data.toString('hex', 48, 80),
    authority: key(80),
    mint: key(112),
    vault: key(144),
  };
}

/**
 * Compares an epoch with its account on the chain, which is derived from program, authority, mint and number alone.
 * @returns what was found, in sentences
 * @throws Misfit, Unreadable
 */
export async function checkChain(epoch: Epoch, said: OnChain, rpc: string, pinned: Pinned): Promise<string[]> {
  for (const [what, address] of Object.entries(pinned)) {
    const shown = Reflect.get(said, what);
    if (shown !== address) throw new Misfit(`the ${what} is ${shown}, not ${address}`);
  }
  const program = new PublicKey(said.program);
  const mint = new PublicKey(said.mint);
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(BigInt(epoch.epoch));
  const seeds = [Buffer.from('epoch'), new PublicKey(said.authority).toBuffer(), mint.toBuffer(), number];
  const [address] = PublicKey.findProgramAddressSync(seeds, program);
  const [vault] = PublicKey.findProgramAddressSync([address.toBuffer(), TOKEN_PROGRAM.toBuffer(), mint.toBuffer()], ASSOCIATED_TOKEN_PROGRAM);
  expect('the address of the epoch', address, said.account);
  expect('the address of the vault', vault, said.vault);

  const [account, tokens] = await read(rpc, [address, vault]);
  if (!account?.owner.equals(program)) throw new Misfit(`on the chain, there is no epoch at ${address}`);
  const found = account.data.length === 240 ? decode(account.data) : null;
  if (found?.tag !== 'CoinopEp' || found.version !== 1) throw new Misfit(`on the chain, what is at ${address} is no epoch`);
  expect('the number', found.epoch, epoch.epoch);
  expect('the root', found.root, epoch.root);
  expect('the total', found.total, epoch.total);
  expect('the number of leaves', found.leaves, epoch.leaves);
  expect('the authority', found.authority, said.authority);
  expect('the mint', found.mint, said.mint);
  expect('the vault', found.vault, said.vault);
  expect('the expiry', found.expiry, epoch.expiresAt === null ? null : Date.parse(epoch.expiresAt) / 1_000);
  const isSettling = epoch.settleRequestedAt !== null && found.state !== 'open';
  if (!isSettling && !STATES_OF[epoch.status]?.includes(found.state))
    throw new Misfit(`on the chain, the epoch is ${found.state}; the service says ${epoch.status}`);
  // The service knows only what is final, and may be a moment behind.
  if (found.claimed < said.claimed) throw new Misfit(`on the chain, ${found.claimed} is claimed; the service says ${said.claimed}`);
  if (found.state === 'open') {
    const held = tokens?.owner.equals(TOKEN_PROGRAM) && tokens.data.length === 165 ? tokens.data.readBigUInt64LE(64) : 0n;
    if (held < found.total - found.claimed)
      throw new Misfit(`on the chain, the vault holds ${held} of the ${found.total - found.claimed} that are not claimed`);
  }
  return [
    `on the chain: ${address}, ${found.state}; ${found.claimed} of ${found.total} claimed, the vault holds the rest`,
    `program ${said.program}, authority ${said.authority}, mint ${said.mint}`,
  ];
}

async function read(rpc: string, keys: PublicKey[]): Promise<(AccountInfo<Buffer> | null)[]> {
  try {
    return await new Connection(rpc, { commitment: 'finalized', disableRetryOnRateLimit: true }).getMultipleAccountsInfo(keys);
  } catch (error) {
    throw new Unreadable(`${rpc} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
