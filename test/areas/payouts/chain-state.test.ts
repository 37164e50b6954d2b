import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ChainState, readChainState } from '#areas/payouts/planning/read-chain-state.ts';
import { type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { associatedTokenAddress } from '#platform/solana/tokens.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { nonceAccount, randomAddress } from '#test/support/areas/payout-rows.ts';
import { mintAccount, type TestAccount, tokenAccount } from '#test/support/solana/names.ts';

const RENT = 2_039_280;
const NONCE = randomAddress();
const lane = { address: randomAddress(), nonceSlot: 7 };
const mint = parseAddress(randomAddress());
const treasury = parseAddress(randomAddress());

let t: TestApp;
/** The accounts on the chain, keyed by address. */
const accounts = new Map<string, FetchedAccount>();
const put = ({ address, owner, data }: TestAccount) => accounts.set(address.toBase58(), { owner, data, lamports: 1 });
/** Opens the associated token account of a wallet, with the given differences. */
const open = (wallet: ReturnType<typeof parseAddress>, change: Partial<Parameters<typeof tokenAccount>[1]> = {}) =>
  put(tokenAccount(associatedTokenAddress(wallet, mint), { mint, holder: wallet, amount: 900n, ...change }));

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  const { node } = t.app.chain;
  node.accounts = async (addresses, _commitment, minSlot) => ({
    slot: minSlot ?? 0,
    accounts: addresses.map((address) => accounts.get(address.toBase58()) ?? null),
  });
  node.rentOf = async () => RENT;
  accounts.set(lane.address, nonceAccount(NONCE));
});
afterAll(() => t.close());

const read = (wallets: readonly string[] = []) => readChainState(t.app, lane, mint, treasury, wallets);
async function readAvailable(wallets: readonly string[] = []): Promise<ChainState> {
  const state = await read(wallets);
  if ('unavailable' in state) throw new Error(state.unavailable);
  return state;
}

test('nothing can be paid without a mint, or while the treasury has no token account, another owner has it, or it is frozen', async () => {
  const none = { unavailable: `the treasury has no token account of ${mint.toBase58()}` };
  expect(await read()).toEqual({ unavailable: `${mint.toBase58()} is not a mint of the token program` });
  put(mintAccount(mint, { decimals: 6, supply: 1_000n }));
  expect(await read()).toEqual(none);
  open(treasury, { holder: parseAddress(randomAddress()) });
  expect(await read()).toEqual(none);
  open(treasury, { state: 2 });
  expect(await read()).toEqual({ unavailable: `the treasury’s token account of ${mint.toBase58()} is frozen` });
  open(treasury);
  expect(await readAvailable()).toEqual({ nonce: NONCE, decimals: 6, funds: 900n, destinations: new Map(), rent: 0n });
});

test('a wallet can be paid if its token account is its own and not frozen, or if the account can be opened', async () => {
  put(mintAccount(mint, { decimals: 6, supply: 1_000n }));
  open(treasury);
  const wallets = Array.from({ length: 6 }, randomAddress);
  const [ready, missing, funded, foreign, stolen, frozen] = wallets.map((wallet) => parseAddress(wallet));
  if (!ready || !missing || !funded || !foreign || !stolen || !frozen) throw new Error('a wallet is missing');
  open(ready);
  accounts.set(associatedTokenAddress(funded, mint).toBase58(), { owner: SYSTEM_PROGRAM, data: Buffer.alloc(0), lamports: 5 });
  open(foreign, { mint: parseAddress(randomAddress()) });
  open(stolen, { holder: parseAddress(randomAddress()) });
  open(frozen, { state: 2 });
  const state = await readAvailable([...wallets, ready.toBase58()]);
  expect(Object.fromEntries(state.destinations)).toEqual({
    [ready.toBase58()]: 'ready',
    [missing.toBase58()]: 'missing',
    [funded.toBase58()]: 'missing',
    [foreign.toBase58()]: { unpayable: 'the associated account of the wallet is not a token account of this mint' },
    [stolen.toBase58()]: { unpayable: 'the token account of the wallet has another owner' },
    [frozen.toBase58()]: { unpayable: 'the token account of the wallet is frozen' },
  });
  expect(state.rent).toBe(BigInt(RENT));
  expect((await readAvailable([ready.toBase58(), frozen.toBase58()])).rent).toBe(0n);
});
