import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import { type Connection, Keypair, NONCE_ACCOUNT_LENGTH, SystemProgram } from '@solana/web3.js';
import { LocalnetControl } from '#dev/localnet/control/control.ts';
import { startLocalnet } from '#dev/localnet/localnet.ts';
import { type LocalnetProcess, startLocalnetProcess } from '#dev/stack/localnet.ts';
import { connect, signed, transfer } from '#test/support/solana/chain.ts';

const folders: string[] = [];
const processes: LocalnetProcess[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'localnet-test-'));
  folders.push(folder);
  return folder;
}
async function start(folder: string): Promise<LocalnetProcess> {
  const localnet = await startLocalnetProcess({ folder, slotMs: 10, finalizedAfter: 8 });
  processes.push(localnet);
  return localnet;
}
afterEach(async () => {
  for (const running of processes.splice(0)) await running.stop();
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const keyOf = (env: LocalnetProcess['env'], name: string) => Keypair.fromSecretKey(Uint8Array.from(JSON.parse(env[name] ?? '[]')));

/** Sends a transfer and waits until it is finalized. */
async function payFinally(connection: Connection, from: Keypair, to: Keypair): Promise<string> {
  const { blockhash } = await connection.getLatestBlockhash();
  const raw = signed([transfer(from, to.publicKey, 1_000_000)], [from], blockhash).serialize();
  const signature = await connection.sendRawTransaction(raw, { skipPreflight: true });
  for (;;) {
    const { value } = await connection.getSignatureStatus(signature);
    if (value?.confirmationStatus === 'finalized') return signature;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('a cluster keeps its keys, transactions and balances over a stop and over a kill', async () => {
  const folder = newFolder();
  const localnet = await start(folder);
  const connection = connect(localnet.url);
  const control = new LocalnetControl(localnet.url);
  const payer = keyOf(localnet.env, 'FEE_PAYER_KEY');
  const [to, nonce] = [Keypair.generate(), Keypair.generate()];
  const accounts = { fromPubkey: payer.publicKey, noncePubkey: nonce.publicKey, authorizedPubkey: payer.publicKey };
  const lamports = await connection.getMinimumBalanceForRentExemption(NONCE_ACCOUNT_LENGTH);
  const create = SystemProgram.createNonceAccount({ ...accounts, lamports });
  const { blockhash } = await connection.getLatestBlockhash();
  await connection.sendRawTransaction(signed(create.instructions, [payer, nonce], blockhash).serialize());
  await control.skip(7);
  const signatures = [await payFinally(connection, payer, to)];
  const before = { env: localnet.env, url: localnet.url, genesis: await connection.getGenesisHash(), slot: await connection.getSlot('processed') };
  const value = (await connection.getNonce(nonce.publicKey))?.nonce;
  const block = async (signature: string) => {
    const read = await connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 });
    return connection.getBlock(read?.slot ?? 0, { commitment: 'finalized', maxSupportedTransactionVersion: 1 });
  };
  const blocks = [await block(signatures[0] ?? '')];

  for (const end of ['stop', 'kill'] as const) {
    await localnet[end]();
    await localnet.restart();
    expect({ env: localnet.env, url: localnet.url, genesis: await connection.getGenesisHash() }).toMatchObject({
      env: before.env,
      url: before.url,
      genesis: before.genesis,
    });
    expect(await connection.getSlot('processed')).toBeGreaterThanOrEqual(before.slot);
    expect((await connection.getNonce(nonce.publicKey))?.nonce).toBe(value);
    expect(await connection.getBalance(to.publicKey, 'finalized')).toBe(1_000_000 * signatures.length);
    expect((await connection.getSignaturesForAddress(to.publicKey)).map(({ signature }) => signature)).toEqual(signatures.toReversed());
    for (const [i, signature] of signatures.entries()) expect(await block(signature)).toEqual(blocks[i]);
    expect((await connection.getAccountInfo(keyOf(localnet.env, 'FEE_PAYER_KEY').publicKey))?.lamports).toBeGreaterThan(0);
    const next = await payFinally(connection, payer, to);
    signatures.push(next);
    blocks.push(await block(next));
  }
  for (const file of ['env.json', 'identity.json', 'journal']) expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
});

test('a cluster that is killed while transactions land has every transaction that it reported as landed', async () => {
  const localnet = await start(newFolder());
  const connection = connect(localnet.url);
  const payer = keyOf(localnet.env, 'FEE_PAYER_KEY');
  const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash();
  const raws = Array.from({ length: 60 }, (_, i) =>
    signed([transfer(payer, Keypair.generate().publicKey, 1_000_000 + i)], [payer], blockhash).serialize(),
  );
  const known: string[] = [];
  let killed: Promise<void> | undefined;
  const send = async (raw: Buffer) => {
    const signature = await connection.sendRawTransaction(raw, { skipPreflight: true });
    while (killed === undefined && !(await connection.getSignatureStatus(signature)).value) {
      if ((await connection.getBlockHeight()) > lastValidBlockHeight) throw new Error('a transaction expired before it landed');
    }
    if (killed !== undefined) return;
    known.push(signature);
    if (known.length === 20) killed = localnet.kill();
  };
  await Promise.allSettled(raws.map(send));
  await killed;
  expect(known.length).toBeGreaterThanOrEqual(20);
  await localnet.restart();
  const { value } = await connection.getSignatureStatuses(known, { searchTransactionHistory: true });
  expect(value.filter((status) => status === null)).toEqual([]);
});

test('a cluster refuses faults until it has started, so that they cannot make the start fail', async () => {
  const localnet = await start(newFolder());
  const control = new LocalnetControl(localnet.url);
  await localnet.kill();
  const refusals = new Set<string>();
  let isOver = false;
  const orders = (async () => {
    while (!isOver) {
      const order = control.fault({ kind: 'fail', node: 'first', status: 500 });
      await order.catch((error: unknown) => refusals.add(String(error)));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  await localnet.restart().finally(() => (isOver = true));
  await orders;
  expect([...refusals].join()).toContain('the localnet is still starting');
});

test('an incomplete last journal entry is truncated, and a damaged entry is an error', async () => {
  const folder = newFolder();
  const options = { folder, slotMs: 10, finalizedAfter: 8, genesis: false };
  const to = Keypair.generate().publicKey;
  const first = await startLocalnet(options);
  await first.fund(to, { lamports: 5_000_000 });
  await first.close();
  const journal = join(folder, 'journal');
  const { size } = statSync(journal);
  appendFileSync(journal, '12345678 {"t":"tx","sl');
  const second = await startLocalnet(options);
  expect(await connect(second.url).getBalance(to, 'processed')).toBe(5_000_000);
  expect(statSync(journal).size).toBe(size);
  await second.close();

  const bytes = readFileSync(journal);
  bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
  writeFileSync(journal, bytes);
  await expect(startLocalnet(options)).rejects.toThrow('the journal is damaged at byte 0');
});

test('a second cluster cannot use the same folder', async () => {
  const folder = newFolder();
  const localnet = await startLocalnet({ folder, genesis: false });
  await expect(startLocalnetProcess({ folder })).rejects.toThrow('is in use by process');
  await localnet.close();
  const again = await startLocalnet({ folder, genesis: false });
  await again.close();
});
