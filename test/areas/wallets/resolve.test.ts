import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { startApi } from '#test/support/api.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { freshName, refused, resolveBy, resolvedTo, sns, someone, someProgram } from '#test/support/solana/names.ts';
import { type NamesChain, startNamesChain } from '#test/support/solana/names-chain.ts';
import { send } from '#test/support/wallet.ts';

let chain: NamesChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startNamesChain();
  t = await startTestApp({ workers: false, env: chain.env });
});
afterAll(async () => {
  await t.close();
  await chain.close();
});
afterEach(() => chain.control.clear());

const resolve = (identifier: string) => resolveBy(t, identifier);
const later = (seconds: number) => t.clock.set(new Date(t.clock.now().getTime() + seconds * 1_000));
const asked = () => chain.control.fault({ kind: 'delay', ms: 1, methods: ['getMultipleAccounts'] });

test('an address resolves to itself, with onCurve', async () => {
  const [wallet, program] = [someone().toBase58(), someProgram().toBase58()];
  const reads = await asked();
  expect(await resolve(wallet)).toEqual({ status: 200, identifier: wallet, wallet, source: 'address', onCurve: true });
  expect(await resolve(`  ${wallet}\n`)).toEqual({ status: 200, identifier: wallet, wallet, source: 'address', onCurve: true });
  expect(await resolve(program)).toEqual({ status: 200, identifier: program, wallet: program, source: 'address', onCurve: false });
  expect(await reads.hits()).toBe(0);
});

test('a handle without a linked account gives 404', async () => {
  for (const handle of ['@toly', '@A_1', `@${'x'.repeat(32)}`]) expect(await resolve(handle)).toEqual(refused('no such handle'));
});

const NONE_OF_THEM = 'identifier must be a wallet address (base58 of 32 bytes), a name that ends in .sol or .sns, or @handle';
const NO_HANDLE = 'identifier must be @ and 1 to 32 letters, digits or underscores';
const NO_TEXT = 'the body must not hold NUL characters or lone surrogates';
const NO_NAME =
  'identifier must be a name of one or two labels without spaces, invisible characters, compatibility forms or letters of mixed scripts';
test.each([
  ['', 'identifier must not be empty'],
  ['   ', 'identifier must not be empty'],
  ['a'.repeat(129), 'identifier must be at most 128 characters'],
  ['toly', NONE_OF_THEM],
  ['toly.eth', NONE_OF_THEM],
  ['toly.solana', NONE_OF_THEM],
  ['0'.repeat(44), NONE_OF_THEM],
  ['2'.repeat(43), NONE_OF_THEM],
  ['1'.repeat(33), NONE_OF_THEM],
  [bs58.encode(Buffer.alloc(31, 7)), NONE_OF_THEM],
  [bs58.encode(Buffer.alloc(33, 7)), NONE_OF_THEM],
  [`${bs58.encode(Buffer.alloc(32, 7))}.`, NONE_OF_THEM],
  ['@', NO_HANDLE],
  ['@two words', NO_HANDLE],
  ['@ünique', NO_HANDLE],
  [`@${'x'.repeat(33)}`, NO_HANDLE],
  ['@toly.sol', NO_HANDLE],
  ['.sol', NO_NAME],
  ['.toly.sol', NO_NAME],
  ['toly..sol', NO_NAME],
  ['a.b.c.sol', NO_NAME],
  ['to ly.sol', NO_NAME],
  ['to\u00a0ly.sol', NO_NAME],
  ['toly\n.sol', NO_NAME],
  // Prefixes that the addresses of records are derived from.
  ['\u0001SOL.toly.sol', NO_NAME],
  ['\u0002SOL.toly.sol', NO_NAME],
  ['\u0000sub.toly.sol', NO_TEXT],
  // Texts that look like toly.sol: with a zero-width space, a soft hyphen, a variation selector, a direction mark.
  ['to\u200bly.sol', NO_NAME],
  ['to\u00adly.sol', NO_NAME],
  ['toly\ufe0f.sol', NO_NAME],
  ['\u202etoly.sol', NO_NAME],
  // Full-width letters, a Cyrillic о, and a combining accent.
  ['ｔｏｌｙ.sol', NO_NAME],
  ['tоly.sol', NO_NAME],
  ['caf\u0065\u0301.sol', NO_NAME],
  // A lone surrogate and an unassigned code point.
  ['\ud83c.sol', NO_TEXT],
  ['\u{e0fff}.sol', NO_NAME],
])('the identifier %j is refused with 400', async (identifier, error) => {
  expect(await resolve(identifier)).toEqual({ status: 400, error });
});

test.each([
  [{}, 'identifier is required and must be text'],
  [{ identifier: 7 }, 'identifier must be text'],
  [{ identifier: null }, 'identifier must be text'],
  [{ identifier: ['toly.sol'] }, 'identifier must be text'],
  [{ identifier: 'toly.sol', wallet: 'x' }, 'wallet is not a known field'],
  [[], 'the body must be an object'],
])('the body %j is refused with 400', async (json, error) => {
  const response = await send(t, '/api/wallet/resolve', { json });
  expect([response.status, await response.json()]).toEqual([400, { error }]);
});

test('all processes cache a result for 15 seconds, also when the name does not exist', async () => {
  const other = await startApi(t.env, t.clock);
  try {
    const [name, first, second, missing] = [freshName(), someone(), someone(), freshName()];
    await chain.write(sns(name, first));
    const reads = await asked();
    await Promise.all(Array.from({ length: 10 }, () => resolve(`${name}.sns`)));
    expect(await resolve(`${missing}.sns`)).toEqual(refused('no such name'));
    expect(await reads.hits()).toBe(2);
    await chain.write(sns(name, second), sns(missing, second));
    await later(14);
    expect(await resolveBy(other, `${name}.sns`)).toEqual(resolvedTo(`${name}.sns`, first));
    expect(await resolveBy(other, `${missing}.sns`)).toEqual(refused('no such name'));
    expect(await reads.hits()).toBe(2);
    await later(2);
    expect(await resolve(`${name}.sns`)).toEqual(resolvedTo(`${name}.sns`, second));
    expect(await resolve(`${missing}.sns`)).toEqual(resolvedTo(`${missing}.sns`, second));
  } finally {
    await other.close();
  }
});

test('a name is read from finalized accounts only', async () => {
  const [name, owner] = [freshName(), someone()];
  await chain.control.pause();
  const { address, owner: program, data } = sns(name, owner);
  const account = { lamports: 10_000_000, owner: program.toBase58(), data: data.toString('base64') };
  await chain.control.setAccounts([{ address: address.toBase58(), account }]);
  await chain.control.advance(4);
  expect(await chain.connection.getAccountInfo(address, 'confirmed')).not.toBeNull();
  expect(await resolve(`${name}.sns`)).toEqual(refused('no such name'));
  await chain.control.advance(10);
  await later(16);
  expect(await resolve(`${name}.sns`)).toEqual(resolvedTo(`${name}.sns`, owner));
});

test.each([
  ['drops connections', { kind: 'cut' }],
  ['returns 500', { kind: 'fail', status: 500 }],
  ['returns 429', { kind: 'rateLimit', retryAfter: 1 }],
] as const)('when the RPC node %s, a name gives 503, without a stale result', async (_fault, fault) => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(sns(name, owner));
  expect(await resolve(`${name}.sns`)).toEqual(resolvedTo(`${name}.sns`, owner));
  await chain.control.fault({ ...fault, methods: ['getMultipleAccounts'] });
  await later(16);
  const response = await send(t, '/api/wallet/resolve', { json: { identifier: `${name}.sns` } });
  expect([response.status, await response.json()]).toEqual([503, { error: 'the RPC node does not answer at the moment, try again' }]);
  expect(response.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
  const address = someone().toBase58();
  expect(await resolve(address)).toMatchObject({ status: 200, wallet: address });
  await chain.control.clear();
  await later(2);
  expect(await resolve(`${name}.sns`)).toEqual(resolvedTo(`${name}.sns`, owner));
});
