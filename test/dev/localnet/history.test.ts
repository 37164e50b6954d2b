import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { AddressLookupTableProgram, ComputeBudgetProgram, Keypair, type PublicKey, TransactionMessage, VersionedTransaction } from '@solana/web3.js';
import { associatedTokenAddress, memo, transferChecked } from '#platform/solana/tokens.ts';
import { signed, startTestChain, type TestChain, transfer } from '#test/support/solana/chain.ts';

let chain: TestChain;
let payer: Keypair;
beforeAll(async () => {
  chain = await startTestChain();
  payer = await chain.fundWallet({ lamports: 100_000_000_000, reward: 1_000_000n });
});
afterEach(() => chain.control.clear());
afterAll(() => chain?.close());

/** Sends a number of transfers in separate blocks. @returns their signatures, oldest first */
async function sendMany(to: PublicKey, count: number): Promise<string[]> {
  const signatures: string[] = [];
  for (let i = 0; i < count; i++) {
    signatures.push(await chain.send([transfer(payer, to, 1_000_000 + i), memo(`no ${i}`)], [payer]));
    await chain.control.advance(1);
  }
  return signatures;
}

test('getSignaturesForAddress lists signatures newest first, in pages, with memos', async () => {
  const to = Keypair.generate().publicKey;
  const newest = (await sendMany(to, 5)).reverse();
  await chain.control.advance(10);
  const all = await chain.connection.getSignaturesForAddress(to);
  expect(all.map(({ signature }) => signature)).toEqual(newest);
  expect(all[0]).toEqual({
    signature: newest[0],
    slot: expect.any(Number),
    err: null,
    memo: '[4] no 4',
    blockTime: expect.any(Number),
    confirmationStatus: 'finalized',
  });
  const page = async (options: object) => (await chain.connection.getSignaturesForAddress(to, options)).map(({ signature }) => signature);
  expect(await page({ limit: 2 })).toEqual(newest.slice(0, 2));
  expect(await page({ limit: 2, before: newest[1] })).toEqual(newest.slice(2, 4));
  expect(await page({ until: newest[3] })).toEqual(newest.slice(0, 3));
  expect(await page({ before: newest[0], until: newest[2] })).toEqual(newest.slice(1, 2));
  await expect(page({ limit: 1_001 })).rejects.toThrow('Invalid params');
});

test('getSignaturesForAddress lists a signature once its block has the requested commitment', async () => {
  await chain.control.pause();
  const to = Keypair.generate().publicKey;
  await chain.send([transfer(payer, to, 1_000_000)], [payer]);
  const counts = async () => [
    (await chain.connection.getSignaturesForAddress(to, {}, 'confirmed')).length,
    (await chain.connection.getSignaturesForAddress(to, {}, 'finalized')).length,
  ];
  expect(await counts()).toEqual([0, 0]);
  await chain.control.advance(1);
  expect(await counts()).toEqual([1, 0]);
  await chain.control.advance(7);
  expect(await counts()).toEqual([1, 1]);
});

test('transactions of strangers are listed in the history of each address that they name, and can be read', async () => {
  const [one, two] = [Keypair.generate().publicKey, Keypair.generate().publicKey];
  await chain.control.strangers([one.toBase58(), two.toBase58()], 1_200);
  await chain.control.advance(10);
  for (const address of [one, two]) {
    const page = await chain.connection.getSignaturesForAddress(address);
    expect(page.length).toBe(1_000);
    expect(await chain.connection.getSignaturesForAddress(address, { before: page.at(-1)?.signature ?? '' })).toHaveLength(200);
    const signature = page[0]?.signature ?? '';
    const found = await chain.connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
    expect(found?.transaction.signatures).toEqual([signature]);
    expect(found?.transaction.message.getAccountKeys().staticAccountKeys).toContainEqual(address);
    expect(found?.meta?.err).toBeNull();
  }
});

test('getTransaction returns a transaction as JSON, parsed JSON and bytes', async () => {
  const friend = await chain.fundWallet({ reward: 1n });
  const { rewardMint } = chain.keys;
  const [from, to] = [payer, friend].map((owner) => associatedTokenAddress(owner.publicKey, rewardMint.publicKey));
  if (!from || !to) throw new Error('the test needs two accounts');
  const move = transferChecked({ from, to, owner: payer.publicKey, mint: rewardMint.publicKey, decimals: 6, amount: 250_000n });
  const { blockhash } = await chain.connection.getLatestBlockhash();
  const sent = signed([move, memo('batch 7', [payer.publicKey])], [payer], blockhash);
  const signature = await chain.connection.sendRawTransaction(sent.serialize());
  await chain.control.advance(10);

  const options = { maxSupportedTransactionVersion: 1 };
  const plain = await chain.connection.getTransaction(signature, options);
  expect(plain?.transaction.signatures).toEqual([signature]);
  expect(plain?.transaction.message.serialize()).toEqual(sent.serializeMessage());
  expect(plain?.version).toBe('legacy');
  const balance = (amount: string, uiAmountString: string, owner: Keypair) =>
    expect.objectContaining({
      mint: rewardMint.publicKey.toBase58(),
      owner: owner.publicKey.toBase58(),
      uiTokenAmount: { amount, decimals: 6, uiAmount: Number(uiAmountString), uiAmountString },
    });
  expect(plain?.meta?.preTokenBalances).toEqual(expect.arrayContaining([balance('1000000', '1', payer), balance('1', '0.000001', friend)]));
  expect(plain?.meta?.postTokenBalances).toEqual(expect.arrayContaining([balance('750000', '0.75', payer), balance('250001', '0.250001', friend)]));

  const parsed = await chain.connection.getParsedTransaction(signature, options);
  expect(parsed?.transaction.message.instructions).toMatchObject([
    {
      program: 'spl-token',
      parsed: {
        type: 'transferChecked',
        info: { source: from.toBase58(), destination: to.toBase58(), authority: payer.publicKey.toBase58(), tokenAmount: { amount: '250000' } },
      },
    },
    { program: 'spl-memo', parsed: 'batch 7' },
  ]);
  expect(parsed?.transaction.message.accountKeys[0]).toEqual({ pubkey: payer.publicKey, signer: true, writable: true, source: 'transaction' });

  const response = await fetch(chain.localnet.url, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getTransaction', params: [signature, { encoding: 'base64' }] }),
  });
  expect(await response.json()).toMatchObject({ result: { transaction: [sent.serialize().toString('base64'), 'base64'] } });
});

test('inner instructions have the index of the instruction that called them', async () => {
  const signature = (await chain.connection.getSignaturesForAddress(chain.keys.rewardMint.publicKey)).at(-1)?.signature ?? '';
  const created = await chain.connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 1 });
  const inner = created?.meta?.innerInstructions?.find(({ index }) => index === 2)?.instructions;
  expect(inner).toEqual(expect.arrayContaining([expect.objectContaining({ program: 'spl-token' }), expect.objectContaining({ program: 'system' })]));
});

test('a block contains its transactions and the hash of the previous block', async () => {
  const to = Keypair.generate().publicKey;
  await chain.control.pause();
  const signature = await chain.send([transfer(payer, to, 1_000_000)], [payer]);
  const { slot } = await chain.control.status();
  await expect(chain.connection.getBlock(slot, { maxSupportedTransactionVersion: 1 })).rejects.toThrow('Block not available');
  await chain.control.advance(9);
  const block = await chain.connection.getBlock(slot, { maxSupportedTransactionVersion: 1 });
  expect(block?.transactions.map(({ transaction }) => transaction.signatures[0])).toEqual([signature]);
  const next = await chain.connection.getBlock(slot + 1, { maxSupportedTransactionVersion: 1, transactionDetails: 'none' });
  expect(next).toMatchObject({ parentSlot: slot, previousBlockhash: block?.blockhash });
  const names = await chain.connection.getBlockSignatures(slot);
  expect(names).toMatchObject({ blockhash: block?.blockhash, signatures: [signature] });
  expect(await chain.connection.getBlockTime(slot)).toBe(block?.blockTime);
});

test('a version 0 transaction can use an address lookup table', async () => {
  const to = Keypair.generate().publicKey;
  await chain.control.advance(1);
  const recentSlot = (await chain.connection.getSlot('processed')) - 1;
  const [create, table] = AddressLookupTableProgram.createLookupTable({ authority: payer.publicKey, payer: payer.publicKey, recentSlot });
  const extend = AddressLookupTableProgram.extendLookupTable({
    payer: payer.publicKey,
    authority: payer.publicKey,
    lookupTable: table,
    addresses: [to],
  });
  await chain.send([create, extend], [payer]);
  await chain.control.advance(2);
  const { value } = await chain.connection.getAddressLookupTable(table);
  if (!value) throw new Error('the lookup table is missing');
  const { blockhash } = await chain.connection.getLatestBlockhash();
  const message = new TransactionMessage({ payerKey: payer.publicKey, recentBlockhash: blockhash, instructions: [transfer(payer, to, 1_000_000)] });
  const transaction = new VersionedTransaction(message.compileToV0Message([value]));
  transaction.sign([payer]);
  const signature = await chain.connection.sendTransaction(transaction);
  await chain.control.advance(10);
  const read = await chain.connection.getTransaction(signature, { maxSupportedTransactionVersion: 1 });
  expect(read).toMatchObject({ version: 0, meta: { err: null, loadedAddresses: { writable: [to], readonly: [] } } });
  expect(await chain.connection.getBalance(to)).toBe(1_000_000);
  await expect(chain.connection.getTransaction(signature, { commitment: 'finalized' })).rejects.toThrow('maxSupportedTransactionVersion');
  expect((await chain.connection.getSignaturesForAddress(to))[0]?.signature).toBe(signature);
});

test('the charged fee equals getFeeForMessage, with and without a compute unit limit', async () => {
  for (const budget of [
    [ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 30_000 })],
    [ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 1_001 }), ComputeBudgetProgram.setComputeUnitLimit({ units: 77_777 })],
    [],
  ]) {
    const { blockhash } = await chain.connection.getLatestBlockhash();
    const transaction = signed([...budget, transfer(payer, payer.publicKey, 1), memo('fee')], [payer], blockhash);
    const { value: fee } = await chain.connection.getFeeForMessage(transaction.compileMessage(), 'confirmed');
    const before = await chain.connection.getBalance(payer.publicKey, 'processed');
    const signature = await chain.connection.sendRawTransaction(transaction.serialize());
    expect(before - (await chain.connection.getBalance(payer.publicKey, 'processed'))).toBe(fee);
    await chain.control.advance(2);
    const read = await chain.connection.getTransaction(signature, { commitment: 'confirmed', maxSupportedTransactionVersion: 1 });
    expect(read?.meta?.fee).toBe(fee);
  }
});

test('getRecentPrioritizationFees returns, per block, the higher one of the lowest fee in the block and the lowest fee for each account', async () => {
  await chain.control.pause();
  await chain.send([ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 4_321 }), transfer(payer, payer.publicKey, 1)], [payer]);
  const { slot } = await chain.control.status();
  const fees = await chain.connection.getRecentPrioritizationFees({ lockedWritableAccounts: [payer.publicKey] });
  expect(fees).toHaveLength(150);
  expect(fees.find((fee) => fee.slot === slot)).toEqual({ slot, prioritizationFee: 4_321 });
  const strangers = await chain.connection.getRecentPrioritizationFees({ lockedWritableAccounts: [Keypair.generate().publicKey] });
  expect(strangers.find((fee) => fee.slot === slot)).toEqual({ slot, prioritizationFee: 4_321 });
});
