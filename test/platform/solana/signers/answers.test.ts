import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ed25519 } from '@noble/curves/ed25519.js';
import { VersionedMessage } from '@solana/web3.js';
import { inspectConfig } from '#config';
import { verifyStrict } from '#lib/sign-in/ed25519.ts';
import { newSigner } from '#platform/solana/primitives.ts';
import { CHECK_MESSAGE, RemoteKey } from '#platform/solana/signers/index.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { buildTransaction } from '#platform/solana/transactions.ts';
import { exampleOf, type SignerReply, type SignerServer, startSignerServer, TOKEN, writeScript } from '#test/support/solana/signers.ts';

const [key, other] = [newSigner(), newSigner()];
const MESSAGE = Buffer.from('a message');
const SYSTEM = '11111111111111111111111111111111';

let server: SignerServer;
let folder: string;
const logged: string[] = [];
const log = {
  error: (fields: object, sentence: string) => void logged.push(`error: ${sentence} ${JSON.stringify(fields)}`),
  info: (fields: object, sentence: string) => void logged.push(`info: ${sentence} ${JSON.stringify(fields)}`),
};
beforeAll(async () => {
  server = await startSignerServer(key, other);
  folder = mkdtempSync(join(tmpdir(), 'coinop-signer-scripts-'));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  server.setReply('signs');
  logged.length = 0;
});

const urlKey = (timeoutMs?: number) => new RemoteKey('treasury', key.publicKey, { url: server.url, token: TOKEN }, log, timeoutMs);
const commandKey = (command: string, args: readonly string[] = [], timeoutMs?: number) =>
  new RemoteKey('treasury', key.publicKey, { command, args }, log, timeoutMs);
const isValid = (signature: Uint8Array, message: Uint8Array = MESSAGE) => verifyStrict(key.publicKey.toBytes(), message, signature);

describe('a signer with a URL', () => {
  test('gets the documented request with its token, and may answer in base64 or base58', async () => {
    expect(isValid(await urlKey().sign(MESSAGE))).toBe(true);
    expect(server.requests.at(-1)).toEqual({
      version: 1,
      role: 'treasury',
      address: key.publicKey.toBase58(),
      message: MESSAGE.toString('base64'),
    });
    expect(server.authorization.at(-1)).toBe(`Bearer ${TOKEN}`);
    server.setReply('base58');
    expect(isValid(await urlKey().sign(MESSAGE))).toBe(true);
    expect(logged).toEqual([]);
  });

  test.each<[SignerReply, string]>([
    ['other-key', `the signature is not a signature of ${key.publicKey.toBase58()} over the message`],
    ['garbage', 'the answer must be { "signature": … }, 64 bytes in base64 or base58'],
    ['too-long', 'the answer is longer than 4096 bytes'],
    ['hangs', 'no answer within 0.3 s'],
    ['stalls', 'no answer within 0.3 s'],
    ['refuses', 'status 403'],
    ['redirects', 'status 307'],
    ['drops', 'the request failed ('],
  ])('that answers wrongly (%s) is refused with a reason, and is used again when it signs', async (reply, reason) => {
    const remote = urlKey(300);
    server.setReply(reply);
    for (const _ of [1, 2]) {
      await expect(remote.sign(MESSAGE)).rejects.toMatchObject({ status: 503, message: expect.stringContaining(reason) });
    }
    server.setReply('signs');
    expect(isValid(await remote.sign(MESSAGE))).toBe(true);
    expect(logged).toEqual([
      expect.stringMatching(/^error: the signer of a role does not sign; its transactions wait/),
      'info: the signer of a role signs again {"role":"treasury"}',
    ]);
    expect(logged.join()).not.toMatch(new RegExp(`${TOKEN}|${MESSAGE.toString('base64')}|${server.url}`));
  });

  test('that does not answer in time holds up one request at a time, and the others fail at once', async () => {
    const remote = urlKey(300);
    server.setReply('hangs');
    await Promise.allSettled(Array.from({ length: 30 }, () => remote.sign(MESSAGE)));
    const before = server.requests.length;
    const started = performance.now();
    const [first, ...others] = Array.from({ length: 30 }, () => remote.sign(MESSAGE));
    await expect(Promise.any(others)).rejects.toThrow();
    expect(performance.now() - started).toBeLessThan(250);
    await expect(first).rejects.toThrow('no answer within');
    expect(server.requests.length - before).toBe(1);
  });

  test('gets at most 8 requests at the same time, and all are answered', async () => {
    let [inFlight, most] = [0, 0];
    const full = Promise.withResolvers<void>();
    const slow = createServer(async (request, response) => {
      most = Math.max(most, ++inFlight);
      if (inFlight === 8) full.resolve();
      const body: { message: string } = JSON.parse(await text(request));
      // Answers nothing before eight requests are in flight, then gives a ninth one some time to arrive.
      await full.promise;
      await sleep(20);
      inFlight--;
      const signature = ed25519.sign(Buffer.from(body.message, 'base64'), key.secretKey.subarray(0, 32));
      response.end(JSON.stringify({ signature: Buffer.from(signature).toString('base64') }));
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    const { port } = slow.address() as AddressInfo;
    const remote = new RemoteKey('treasury', key.publicKey, { url: `http://127.0.0.1:${port}`, token: null }, log);
    const all = await Promise.all(Array.from({ length: 40 }, () => remote.sign(MESSAGE)));
    expect(all.every((signature) => isValid(signature))).toBe(true);
    expect(most).toBe(8);
    slow.closeAllConnections();
    await new Promise((resolve) => slow.close(resolve));
  });
});

describe('a signer that is a command', () => {
  test.each([
    ['exit 3', 'the command ended with exit status 3'],
    ['kill -9 $$', 'the command was ended by SIGKILL'],
    ['sleep 60', 'no answer within 0.5 s'],
    ['echo garbage', 'the answer must be'],
    ['cat /dev/zero', 'the answer is longer than 4096 bytes'],
    ['true', 'the answer must be'],
    [`echo '{"signature":"AA=="}'`, 'the answer must be'],
  ])('that runs "%s" is refused with a reason', async (body, reason) => {
    const started = performance.now();
    await expect(commandKey(writeScript(folder, 'wrong.sh', body), [], 500).sign(MESSAGE)).rejects.toThrow(reason);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test('that does not exist is named by the code of the error', async () => {
    await expect(commandKey('/no/such/command').sign(MESSAGE)).rejects.toThrow('the command cannot be run (ENOENT)');
  });

  test('gets no secret of the process in its environment', async () => {
    process.env.TEST_SIGNER_SECRET = 'planted';
    await expect(commandKey(writeScript(folder, 'env.sh', `env > ${folder}/env.txt; exit 1`)).sign(MESSAGE)).rejects.toThrow();
    delete process.env.TEST_SIGNER_SECRET;
    expect(readFileSync(join(folder, 'env.txt'), 'utf8')).not.toContain('TEST_SIGNER_SECRET');
  });
});

test('the message of bin/doctor has the documented bytes and can never be a transaction', () => {
  expect(Buffer.from(CHECK_MESSAGE).toString('hex')).toBe(
    `ff736f6c616e61206f6666636861696e00001a00${Buffer.from('Coinop checks this signer.').toString('hex')}`,
  );
  expect(() => VersionedMessage.deserialize(CHECK_MESSAGE)).toThrow();
});

describe('the example signers', () => {
  const programs = SYSTEM;
  const transfer = () => buildTransaction(key.publicKey, [transferLamports(key.publicKey, other.publicKey, 5n)], other.publicKey.toBase58()).message;
  const fileSigner = (...args: string[]) => commandKey(process.execPath, [exampleOf('file-signer.ts'), ...args]);
  const keyFile = () => {
    const file = join(folder, 'treasury.json');
    writeFileSync(file, JSON.stringify([...key.secretKey]), { mode: 0o600 });
    return file;
  };

  test('sign transactions of the allowed programs and the message of bin/doctor', async () => {
    const signer = fileSigner('--key', keyFile(), '--role', 'treasury', '--programs', programs);
    expect(isValid(await signer.sign(transfer()), transfer())).toBe(true);
    expect(isValid(await signer.sign(CHECK_MESSAGE), CHECK_MESSAGE)).toBe(true);
  });

  test.each([
    ['another program', ['--role', 'treasury', '--programs', TOKEN], transfer],
    ['another role', ['--role', 'committer', '--programs', SYSTEM], transfer],
    ['a message that is no transaction', ['--role', 'treasury', '--programs', SYSTEM], () => MESSAGE],
    ['a message that ends early', ['--role', 'treasury', '--programs', SYSTEM], () => transfer().subarray(0, -1)],
  ])('refuse %s', async (_case, args, message) => {
    await expect(fileSigner('--key', keyFile(), ...args).sign(message())).rejects.toThrow('exit status 1');
  });

  test('ask Google Cloud KMS with the token of the service account, here a stand-in of its servers', async () => {
    const asked: string[] = [];
    const google = createServer(async (request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers['metadata-flavor'] ?? request.headers.authorization}`);
      if (request.method === 'GET') return response.end(JSON.stringify({ access_token: 'ya29.token', expires_in: 3_599, token_type: 'Bearer' }));
      const body: { data: string } = JSON.parse(await text(request));
      const signature = ed25519.sign(Buffer.from(body.data, 'base64'), key.secretKey.subarray(0, 32));
      return response.end(JSON.stringify({ signature: Buffer.from(signature).toString('base64'), name: 'version' }));
    });
    await new Promise<void>((resolve) => google.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(google.address() as AddressInfo).port}`;
    const version = 'projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1';
    const args = [
      '--key',
      version,
      '--role',
      'treasury',
      '--address',
      key.publicKey.toBase58(),
      '--programs',
      SYSTEM,
      '--kms',
      url,
      '--metadata',
      url,
    ];
    const signer = commandKey(process.execPath, [exampleOf('google-cloud-kms.ts'), ...args]);
    expect(isValid(await signer.sign(transfer()), transfer())).toBe(true);
    expect(asked).toEqual([
      'GET /computeMetadata/v1/instance/service-accounts/default/token Google',
      `POST /v1/${version}:asymmetricSign Bearer ya29.token`,
    ]);
    google.closeAllConnections();
    await new Promise((resolve) => google.close(resolve));
  });
});

describe('the settings of signers', () => {
  const problemsOf = (env: Record<string, string>) => inspectConfig({ NODE_ENV: 'development', ...env }).problems;
  const TREASURY_ADDRESS = key.publicKey.toBase58();

  test.each<[Record<string, string>, string | null]>([
    [{ TREASURY_SIGNER: 'exec:/usr/bin/signer --role treasury', TREASURY_ADDRESS }, null],
    [{ TREASURY_SIGNER: 'https://signer.example/sign', TREASURY_SIGNER_TOKEN: TOKEN, TREASURY_ADDRESS }, null],
    [{ TREASURY_SIGNER: 'http://signer.example/sign', TREASURY_ADDRESS }, null],
    [{ TREASURY_SIGNER: 'exec:/usr/bin/signer' }, 'TREASURY_ADDRESS must be set, because TREASURY_SIGNER is set'],
    [
      { TREASURY_SIGNER: 'exec:/usr/bin/signer', TREASURY_ADDRESS, TREASURY_KEY: '/key.json' },
      'TREASURY_KEY and TREASURY_SIGNER must not both be set',
    ],
    [
      { TREASURY_SIGNER: 'exec:/usr/bin/signer', TREASURY_ADDRESS, TREASURY_SIGNER_TOKEN: TOKEN },
      'TREASURY_SIGNER_TOKEN must be unset, unless TREASURY_SIGNER is a URL',
    ],
    [{ TREASURY_SIGNER: 'exec:signer', TREASURY_ADDRESS }, 'TREASURY_SIGNER must have the absolute path of a command after exec:'],
    [{ TREASURY_SIGNER: 'ftp://signer', TREASURY_ADDRESS }, 'TREASURY_SIGNER must be exec: and the absolute path of a command, or an https URL'],
  ])('%j: %s', (env, problem) => {
    expect(problemsOf(env)).toEqual(problem === null ? [] : [problem]);
  });

  test('production accepts http only on localhost', () => {
    const named = (url: string) =>
      problemsOf({ NODE_ENV: 'production', TREASURY_ADDRESS, TREASURY_SIGNER: url }).filter((one) => one.startsWith('TREASURY_SIGNER'));
    expect(named('http://localhost:8900/sign')).toEqual([]);
    expect(named('http://signer.example/sign')).toEqual(['TREASURY_SIGNER must be https in production, unless the host is localhost']);
  });
});
