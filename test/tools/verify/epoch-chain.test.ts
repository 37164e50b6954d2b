import { expect, test } from '@jest/globals';
import bs58 from 'bs58';
import type { Account } from '#packages/verify/src/chain.ts';
import { type AccountReader, epochAddress, readEpoch, vaultAddress } from '#packages/verify/src/epoch/chain.ts';
import { newSigner } from '#platform/solana/primitives.ts';

const key = (): string => newSigner().publicKey.toBase58();
const program = key();
const [authority, mint] = [key(), key()];
const address = epochAddress(program, authority, mint, 7);
const vault = vaultAddress(address, mint);
/** More leaves than a page has. */
const amounts = Array.from({ length: 4_100 }, (_, i) => BigInt(i + 1));

const account = (data: Buffer, owner = program): Account => ({ data, owner });

function epochData(claimed: bigint): Buffer {
  const data = Buffer.alloc(240);
  data.write('CoinopEp', 'latin1');
  data.set([1, 1], 8);
  data.writeUInt32LE(amounts.length, 12);
  data.writeBigUInt64LE(claimed, 32);
  return data;
}

/** Returns the data of a page that marks claims of the page. */
function pageData(page: number, claims: readonly number[]): Buffer {
  const data = Buffer.alloc(48 + (page === 0 ? 512 : 1));
  data.write('CoinopPg', 'latin1');
  data.set([1], 8);
  data.writeUInt32LE(page, 12);
  data.set(bs58.decode(address), 16);
  for (const claim of claims) data[48 + (claim >> 3)] = (data[48 + (claim >> 3)] ?? 0) | (1 << (claim & 7));
  return data;
}

/** Returns a reader of an epoch and its two pages. `claimed`: the claimed amount at each reading of the epoch. */
function readerOf(claimed: bigint[], pages: readonly (Account | null)[]): AccountReader {
  return async (addresses) => {
    if (addresses[0] === address) return [account(epochData(claimed.length > 1 ? (claimed.shift() ?? 0n) : (claimed[0] ?? 0n))), null];
    return addresses.map((_, i) => pages[i] ?? null);
  };
}
const read = (reader: AccountReader) => readEpoch(reader, program, { address, vault }, amounts);

test('the marked claims of all pages are counted and summed', async () => {
  const pages = [account(pageData(0, [0, 9, 4_095])), account(pageData(1, [3]))];
  expect((await read(readerOf([8_207n], pages))).paid).toEqual({ count: 4, sum: 1n + 10n + 4_096n + 4_100n });
});

test('pages that do not exist yet mark nothing, also when a stranger sent lamports to their addresses', async () => {
  expect((await read(readerOf([0n], [null, account(Buffer.alloc(0), key())]))).paid).toEqual({ count: 0, sum: 0n });
});

test('the pages are read again when a claim arrives in between, and not for ever', async () => {
  const pages = [account(pageData(0, [0]))];
  expect((await read(readerOf([0n, 1n, 1n], pages))).epoch.claimed).toBe(1n);
  const busy = Array.from({ length: 30 }, (_, i) => BigInt(i));
  await expect(read(readerOf(busy, pages))).rejects.toThrow('claims arrive faster than the node answers');
});

test('a page of another epoch, number or length, and a mark beyond the leaves, are refused', async () => {
  const foreign = pageData(0, []);
  foreign.set(bs58.decode(key()), 16);
  const cases = [foreign, pageData(1, []), pageData(0, []).subarray(0, 500)];
  for (const data of cases) await expect(read(readerOf([0n], [account(data)]))).rejects.toThrow('page 0 of the claims is not a page of this epoch');
  await expect(read(readerOf([0n], [null, account(pageData(1, [4]))]))).rejects.toThrow('page 1 marks claim 4100, but there are 4100 leaves');
});
