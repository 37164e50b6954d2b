import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { filesIn } from '../areas/clips.ts';

/** A third-party S3 server (s3rver) in a separate process. It checks signatures. */
export interface S3 {
  /** Environment variables for an application that uses the server. */
  readonly env: Readonly<Record<string, string>>;
  /** Returns the ids of all files in the bucket. */
  ids(): Promise<string[]>;
  stop(): Promise<void>;
}

const SERVE = `const S3 = require('@20minutes/s3rver');
new S3({ ...JSON.parse(process.argv[1]), address: '127.0.0.1', port: 0, silent: true, configureBuckets: [{ name: 'media' }] })
  .run().then(({ port }) => console.log(port));`;

export async function startS3(): Promise<S3> {
  const directory = await mkdtemp(join(tmpdir(), 'coinop-s3-'));
  const server = spawn(process.execPath, ['-e', SERVE, JSON.stringify({ directory })], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [port] = await once(server.stdout, 'data');
  return {
    env: {
      MEDIA_S3_ENDPOINT: `http://127.0.0.1:${String(port).trim()}`,
      MEDIA_S3_BUCKET: 'media',
      MEDIA_S3_ACCESS_KEY: 'S3RVER',
      MEDIA_S3_SECRET_KEY: 'S3RVER',
    },
    async ids() {
      const files = await filesIn(directory);
      return files.flatMap((file) => /^([0-9a-f-]{36})\._S3rver_object$/.exec(file)?.[1] ?? []);
    },
    async stop() {
      if (server.kill()) await once(server, 'exit');
      await rm(directory, { recursive: true, force: true });
    },
  };
}
