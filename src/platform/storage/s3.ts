import { Agent, type IncomingMessage, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Config } from './config.ts';
import { storageDown } from './down.ts';
import { Draft } from './draft.ts';
import { PUT_MS, pathOf, type Storage } from './storage.ts';

/** How long nothing may move, ms: before an answer begins, and while it is read. Players fill their buffer, and then take no more for a while. */
const PATIENCE = { answerMs: 15_000, unreadMs: 120_000 };
const MOST_TRIES = 3;
const PAUSE_MS = 200;
/** Of an answer that explains what is wrong. */
const MAX_REASON_BYTES = 4_096;

interface Asked {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly id: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly draft?: Draft;
}

/** An answer that was not hoped for. */
class Unexpected extends Error {
  readonly isPassing: boolean;

  constructor({ method, id }: Asked, status: number, reason: string) {
    super(`S3 answered ${method} ${id} with ${status} ${reason}`);
    this.isPassing = status < 400 || status >= 500 || status === 429 || status === 408;
  }
}

/**
 * Keeps bytes in a bucket. Of S3 it needs three signed requests, and streams both ways; an SDK would be larger than all of the service.
 * @param folder where uploads are received before they are sent: S3 wants to know their length and hash first
 */
export function openS3(folder: string, config: S3Config, patience = PATIENCE): Storage {
  const base = `${config.endpoint.replace(/\/$/, '')}/${config.bucket}`;
  const isTls = base.startsWith('https:');
  const agent = isTls ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });

  /** Sends a signed request. @returns the answer, when it begins */
  async function send({ method, id, headers = {}, draft }: Asked, url: string, deadline: AbortSignal | null): Promise<IncomingMessage> {
    const { AwsV4Signer } = await import('aws4fetch');
    const signed = await new AwsV4Signer({
      method,
      url,
      // What arrives must be what was received, or it is refused.
      headers: { ...headers, ...(draft ? { 'X-Amz-Content-Sha256': draft.sha256.toString('hex') } : {}) },
      accessKeyId: config.accessKey,
      secretAccessKey: config.secretKey,
      service: 's3',
      region: config.region,
    }).sign();
    return await new Promise((resolve, reject) => {
      const request = (isTls ? tlsRequest : plainRequest)(signed.url, {
        method,
        agent,
        timeout: patience.answerMs,
        ...(deadline ? { signal: deadline } : {}),
        headers: { ...Object.fromEntries(signed.headers), ...(draft ? { 'Content-Length': draft.bytes } : {}) },
      });
      request.on('timeout', () => request.destroy(new Error(`nothing moved in ${method} ${id} for too long`)));
      request.on('error', reject);
      request.on('response', (response) => {
        response.on('error', () => undefined);
        // An upload that is refused early is only half sent.
        response.on('close', () => void (request.writableFinished || request.destroy()));
        request.setTimeout(patience.unreadMs);
        resolve(response);
      });
      if (draft) pipeline(draft.read(), request, () => undefined);
      else request.end();
    });
  }

  /** Asks until there is an answer of the kind that is hoped for, or asking again is of no use. */
  async function ask(asked: Asked, isHopedFor: (status: number, response: IncomingMessage) => boolean): Promise<IncomingMessage> {
    const { folder: part, name } = pathOf(asked.id);
    // What is read may take as long as its reader does.
    const deadline = asked.method === 'GET' ? null : AbortSignal.timeout(PUT_MS);
    for (let tries = 1; ; tries++) {
      try {
        const response = await send(asked, `${base}/${part}/${name}`, deadline);
        const status = response.statusCode ?? 0;
        if (isHopedFor(status, response)) return response;
        throw new Unexpected(asked, status, await reasonIn(response));
      } catch (error) {
        const isFinal = error instanceof Unexpected && !error.isPassing;
        if (isFinal || tries >= MOST_TRIES || deadline?.aborted) throw storageDown(error);
        await sleep(Math.random() * PAUSE_MS * 2 ** tries);
      }
    }
  }

  return {
    draft: () => Draft.open(folder),
    async put(id, draft, type) {
      (await ask({ method: 'PUT', id, draft, headers: { 'Content-Type': type } }, (status) => status === 200)).resume();
    },
    async open(id, { start, end }) {
      // What is shorter than it was would leave its reader waiting for the rest.
      return await ask(
        { method: 'GET', id, headers: { Range: `bytes=${start}-${end}` } },
        (status, { headers }) => (status === 206 || (status === 200 && start === 0)) && Number(headers['content-length']) === end - start + 1,
      );
    },
    async remove(id) {
      (await ask({ method: 'DELETE', id }, (status) => status === 204 || status === 200 || status === 404)).resume();
    },
    close: () => agent.destroy(),
  };
}

/** What an answer says of itself: a code such as `AccessDenied`, or how long it is. */
async function reasonIn(response: IncomingMessage): Promise<string> {
  let text = '';
  if ((response.statusCode ?? 0) >= 300) {
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk;
      if (text.length > MAX_REASON_BYTES) break;
    }
  }
  response.destroy();
  return /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? `and ${response.headers['content-length'] ?? 'unknown'} bytes`;
}
