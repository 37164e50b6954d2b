import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ed25519 } from '@noble/curves/ed25519.js';
import bs58 from 'bs58';
import type { Signer } from '#platform/solana/primitives.ts';
import { PREFIX_OF, ROLES, type Role } from '#platform/solana/signers/index.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { ASSOCIATED_TOKEN_PROGRAM, MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { COMPUTE_BUDGET_PROGRAM } from '#platform/solana/transactions.ts';
import type { TestChain } from './chain.ts';

const examples = join(import.meta.dirname, '../../../examples/signers');
export const exampleOf = (file: string): string => join(examples, file);
export const TOKEN = 'test-signer-token-0123456789';

/** The keys of a chain, held by signers. */
export interface TestSigners {
  /** The settings of the chain, with signers in place of the keys. */
  readonly env: Record<string, string>;
  close(): void;
}

/** Returns the settings without the keys of the named roles, and with the addresses of all roles. */
export function withoutKeys({ env, keys }: TestChain, roles: readonly Role[] = ROLES): Record<string, string> {
  const dropped = roles.map((role) => `${PREFIX_OF[role]}_KEY`);
  const addresses = ROLES.map((role) => [`${PREFIX_OF[role]}_ADDRESS`, keys[role].publicKey.toBase58()] as const);
  return { ...Object.fromEntries(Object.entries(env).filter(([name]) => !dropped.includes(name))), ...Object.fromEntries(addresses) };
}

/** The programs that each role signs for, as docs/signers.md lists them. */
export function programsOf({ keys }: TestChain, role: Role): string[] {
  const tokens = [TOKEN_PROGRAM, ASSOCIATED_TOKEN_PROGRAM, MEMO_PROGRAM];
  const [distributor, draws] = [keys.program.publicKey, keys.drawsProgram.publicKey];
  const own = {
    feePayer: [SYSTEM_PROGRAM, ...tokens, distributor, draws],
    epochAuthority: [SYSTEM_PROGRAM, ...tokens, distributor],
    treasury: [SYSTEM_PROGRAM, ...tokens, distributor],
    committer: [draws],
  }[role];
  return [COMPUTE_BUDGET_PROGRAM, ...own].map((program) => program.toBase58());
}

/** Starts the example signer with a file for every role, as commands or as servers in processes of their own. */
export async function startSigners(chain: TestChain, form: 'exec' | 'url'): Promise<TestSigners> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-signers-'));
  const children: ChildProcess[] = [];
  const start = async (role: Role): Promise<readonly [string, string][]> => {
    const key = join(folder, `${role}.json`);
    writeFileSync(key, chain.env[`${PREFIX_OF[role]}_KEY`] ?? '', { mode: 0o600 });
    const args = [exampleOf('file-signer.ts'), '--key', key, '--role', role, '--programs', programsOf(chain, role).join(',')];
    if (form === 'exec') return [[`${PREFIX_OF[role]}_SIGNER`, `exec:${[process.execPath, ...args].join(' ')}`]];
    const child = spawn(process.execPath, [...args, '--listen', '0'], { env: { SIGNER_TOKEN: TOKEN }, stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const [line] = await once(child.stdout, 'data');
    return [
      [`${PREFIX_OF[role]}_SIGNER`, `http://127.0.0.1:${/"port":(\d+)/.exec(String(line))?.[1]}/sign`],
      [`${PREFIX_OF[role]}_SIGNER_TOKEN`, TOKEN],
    ];
  };
  const settings = (await Promise.all(ROLES.map(start))).flat();
  return {
    env: { ...withoutKeys(chain), ...Object.fromEntries(settings) },
    close() {
      for (const child of children) child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** How the test server answers. */
export type SignerReply = 'signs' | 'base58' | 'other-key' | 'garbage' | 'too-long' | 'hangs' | 'stalls' | 'refuses' | 'redirects' | 'drops';

/** A signer in the test's process, with configurable faults. */
export interface SignerServer {
  readonly url: string;
  /** The bodies of all requests. */
  readonly requests: Record<string, unknown>[];
  readonly authorization: (string | undefined)[];
  setReply(reply: SignerReply): void;
  close(): Promise<void>;
}

/** Starts a server that signs with a key. */
export async function startSignerServer(key: Signer, other: Signer): Promise<SignerServer> {
  const requests: Record<string, unknown>[] = [];
  const authorization: (string | undefined)[] = [];
  let reply: SignerReply = 'signs';
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const body: Record<string, unknown> = JSON.parse(await text(request));
    requests.push(body);
    authorization.push(request.headers.authorization);
    const signature = (by: Signer) => ed25519.sign(Buffer.from(String(body.message), 'base64'), by.secretKey.subarray(0, 32));
    const send = (value: string) => void response.end(JSON.stringify({ signature: value }));
    switch (reply) {
      case 'signs':
        return send(Buffer.from(signature(key)).toString('base64'));
      case 'base58':
        return send(bs58.encode(signature(key)));
      case 'other-key':
        return send(Buffer.from(signature(other)).toString('base64'));
      case 'garbage':
        return void response.end('<html>');
      case 'too-long':
        return void response.end(`${JSON.stringify({ signature: bs58.encode(signature(key)) })}${' '.repeat(5_000)}`);
      case 'hangs':
        return;
      case 'stalls':
        return void response.write('{');
      case 'refuses':
        return void response.writeHead(403).end();
      case 'redirects':
        return void response.writeHead(307, { Location: '/elsewhere' }).end();
      case 'drops':
        return void request.socket.destroy();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/sign`,
    requests,
    authorization,
    setReply(next) {
      reply = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Writes an executable shell script. @returns its path */
export function writeScript(folder: string, name: string, body: string): string {
  const file = join(folder, name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o700);
  return file;
}
