import { expect, test } from '@jest/globals';
import { readConfig } from '#config';
import { newSigner } from '#platform/solana/primitives.ts';
import { openChain } from '#platform/solana/solana.ts';

const [key, other] = [newSigner(), newSigner()];
const TREASURY_KEY = JSON.stringify([...key.secretKey]);
const [own, foreign] = [key, other].map(({ publicKey }) => publicKey.toBase58()) as [string, string];
const open = (env: Record<string, string>) => openChain(readConfig({ NODE_ENV: 'test', ...env }));

test('the address of a role is that of its key, or the configured one, and both must be equal', () => {
  expect(open({ TREASURY_KEY }).address('treasury').toBase58()).toBe(own);
  expect(open({ TREASURY_ADDRESS: foreign }).address('treasury').toBase58()).toBe(foreign);
  expect(open({ TREASURY_KEY, TREASURY_ADDRESS: own }).address('treasury').toBase58()).toBe(own);
  expect(() => open({ TREASURY_KEY, TREASURY_ADDRESS: foreign }).address('treasury')).toThrow('TREASURY_KEY does not belong to TREASURY_ADDRESS');
});

test('a role with a signer has the configured address, and the signer is not asked for it', () => {
  const chain = open({ TREASURY_SIGNER: 'exec:/no/such/command', TREASURY_ADDRESS: own });
  expect(chain.key('treasury').publicKey.toBase58()).toBe(own);
  expect(chain.address('treasury').toBase58()).toBe(own);
});

test('a key or an address that is not configured is named, and the client may ask again after a minute', () => {
  const chain = open({});
  const headers = { 'Retry-After': '60' };
  for (const read of [() => chain.key('treasury'), () => chain.address('treasury')])
    expect(read).toThrow(expect.objectContaining({ status: 503, message: 'the key of treasury is not configured', headers }));
  expect(() => chain.rewardMint).toThrow(expect.objectContaining({ status: 503, message: 'REWARD_MINT is not configured', headers }));
});

test('a text that is no key is refused without repeating it', () => {
  const chain = open({ TREASURY_KEY: 'planted' });
  expect(() => chain.key('treasury')).toThrow(/^the key of treasury must be a JSON array of 64 numbers(?!.*planted)/);
});
