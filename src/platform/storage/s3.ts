import { Agent, type IncomingMessage, request as plainRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Config } from './config.ts';
import { PUT_MS, pathOf, type Storage } from './storage.ts';
import { storageUnavailable } from './unavailable.ts';
import { UploadDraft } from './upload-draft.ts';

/**
 * Idle timeouts of a request, ms: before the response starts, and while the response is read. The second timeout is longer, because a video player
 * stops reading while its buffer is full.
 */
const TIMEOUTS = { responseMs: 15_000, readMs: 120_000 };
const MAX_ATTEMPTS = 3;
/** Base delay before a retry, ms. It doubles with each attempt. */
const RETRY_MS = 200;
/** Maximum bytes of an error response that are read. */
const MAX_REASON_BYTES = 4_096;

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly id: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly draft?: UploadDraft;
}

/** The error for a response of S3 with an unexpected status. */
class UnexpectedStatus extends Error {
  readonly isTemporary: boolean;

  constructor({ method, id }: S3Request, status: number, reason: string) {
    super(`S3 answered ${method} ${id} with ${status} ${reason}`);
    this.isTemporary = status < 400 || status >= 500 || status === 429 || status === 408;
  }
}

/**
 * Opens a storage that keeps media in an S3 bucket. It signs its requests itself instead of using an SDK, which would be larger than this service.
 * @param folder holds uploads in progress, because S3 needs the length and hash of a file before the first byte
 */
export function openS3(folder: string, config: S3Config, timeouts = TIMEOUTS): Storage {
  const base = `${config.endpoint.replace(/\/$/, '')}/${config.bucket}`;
  const isTls = base.startsWith('https:');
  const agent = isTls ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });

  /** Sends a signed request. @returns the response as soon as its headers arrive */
  async function send({ method, id, headers = {}, draft }: S3Request, url: string, deadline: AbortSignal | null): Promise<IncomingMessage> {
    const { AwsV4Signer } = await import('aws4fetch');
    const signed = await new AwsV4Signer({
      method,
      url,
      // S3 rejects the upload when the content does not match this hash.
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
        timeout: timeouts.responseMs,
        ...(deadline ? { signal: deadline } : {}),
        headers: { ...Object.fromEntries(signed.headers), ...(draft ? { 'Content-Length': draft.bytes } : {}) },
      });
      request.on('timeout', () => request.destroy(new Error(`${method} ${id} timed out: no data was transferred`)));
      request.on('error', reject);
      request.on('response', (response) => {
        response.on('error', () => undefined);
        // Closes the connection when S3 rejects an upload before the upload is fully sent.
        response.on('close', () => void (request.writableFinished || request.destroy()));
        request.setTimeout(timeouts.readMs);
        resolve(response);
      });
      if (draft) pipeline(draft.read(), request, () => undefined);
      else request.end();
    });
  }

  /**
   * Sends a request, with retries until `isExpected` accepts the response.
   * @throws 503 after the last attempt, or on a permanent error
   */
  async function sendWithRetries(request: S3Request, isExpected: (status: number, response: IncomingMessage) => boolean): Promise<IncomingMessage> {
    const { folder: part, name } = pathOf(request.id);
    // A GET request has no deadline, because a slow client may need a long time to read the response.
    const deadline = request.method === 'GET' ? null : AbortSignal.timeout(PUT_MS);
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await send(request, `${base}/${part}/${name}`, deadline);
        const status = response.statusCode ?? 0;
        if (isExpected(status, response)) return response;
        throw new UnexpectedStatus(request, status, await reasonIn(response));
      } catch (error) {
        const isFinal = error instanceof UnexpectedStatus && !error.isTemporary;
        if (isFinal || attempt >= MAX_ATTEMPTS || deadline?.aborted) throw storageUnavailable(error);
        await sleep(Math.random() * RETRY_MS * 2 ** attempt);
      }
    }
  }

  return {
    draft: () => UploadDraft.open(folder),
    async put(id, draft, type) {
      (await sendWithRetries({ method: 'PUT', id, draft, headers: { 'Content-Type': type } }, (status) => status === 200)).resume();
    },
    async open(id, { start, end }) {
      // The length in S3's response is checked before the first byte is sent to the client, because a client would wait for the missing bytes of a
      // truncated file.
      return await sendWithRetries(
        { method: 'GET', id, headers: { Range: `bytes=${start}-${end}` } },
        (status, { headers }) => (status === 206 || (status === 200 && start === 0)) && Number(headers['content-length']) === end - start + 1,
      );
    },
    async remove(id) {
      (await sendWithRetries({ method: 'DELETE', id }, (status) => status === 204 || status === 200 || status === 404)).resume();
    },
    close: () => agent.destroy(),
  };
}

/** Returns the reason for an unexpected response: its S3 error code, such as `AccessDenied`, or the length of the response when it has no code. */
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
