import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { unpackedNginx } from '#dev/stack/debian/nginx.ts';
import { createCertificate } from './tls-site.ts';

const CONFIGURATION = join(import.meta.dirname, '../../../ops/proxy/nginx.conf');

/** Returns a TCP port that no program listens on. */
export async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}

/** A running nginx. `port`: for https. */
export interface TestProxy {
  readonly port: number;
  readonly httpPort: number;
  stop(): Promise<void>;
}

/** Starts nginx with the configuration of ops/proxy. Replaces only ports, addresses and paths, in the lines that are marked with CHANGE. */
export async function startProxy(apiPort: number): Promise<TestProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'coinop-nginx-'));
  const [port, httpPort] = [await unusedPort(), await unusedPort()];
  const { key, cert } = createCertificate();
  await mkdir(join(folder, 'coinop.d'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n');
  await Promise.all([
    writeFile(join(folder, 'privkey.pem'), key, { mode: 0o600 }),
    writeFile(join(folder, 'fullchain.pem'), cert),
    writeFile(join(folder, 'coinop.d/test.conf'), temporary),
  ]);
  let text = await readFile(CONFIGURATION, 'utf8');
  const replace = (from: string, to: string) => {
    if (!text.includes(from)) throw new Error(`nginx.conf does not contain ${from}`);
    text = text.replaceAll(from, to);
  };
  replace('include /etc/nginx/coinop.d/', `include ${folder}/coinop.d/`);
  replace('/etc/nginx/tls/', `${folder}/`);
  replace('server 127.0.0.1:3000', `server 127.0.0.1:${apiPort}`);
  replace('listen [::]:80 default_server;', '');
  replace('listen [::]:443 ssl http2 default_server backlog=4096;', '');
  replace('listen 80 default_server', `listen ${httpPort} default_server`);
  replace('listen 443 ssl', `listen ${port} ssl`);
  await writeFile(join(folder, 'nginx.conf'), text);
  const user = process.getuid?.() === 0 ? 'user root; ' : '';
  const main = `${user}daemon off; pid ${folder}/pid; error_log ${folder}/errors info;`;
  const child: ChildProcess = spawn(unpackedNginx(), ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'errors'), '-g', main], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  for (let i = 0; ; i++) {
    if (child.exitCode !== null) throw new Error(`nginx exited with ${child.exitCode}: ${await readFile(join(folder, 'errors'), 'utf8')}`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'error').then(() => false)]).catch(() => false);
    socket.destroy();
    if (isOpen) break;
    if (i > 100) throw new Error('nginx does not listen');
    await sleep(50);
  }
  return {
    port,
    httpPort,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
