import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import busboy from 'busboy';
import type Koa from 'koa';
import type { z } from 'zod';
import { fail, HttpError } from '#lib/errors.ts';
import { describeIssue, validationError } from './validation-errors.ts';

/** Maximum parts (fields and files) of a form. */
const MAX_PARTS = 20;
/** Maximum size of a text field, bytes. */
const MAX_FIELD_BYTES = 4_096;
/** Maximum size of a form without its file, bytes. */
export const MAX_FORM_OVERHEAD_BYTES = 64 * 1024;
/** Maximum characters of a field name in an error sentence. */
const MAX_ECHO = 100;

/** Timeouts of an upload, ms: for the whole body, and between two chunks. */
export interface UploadTimeouts {
  readonly totalMs: number;
  readonly idleMs: number;
}
const UPLOAD_TIMEOUTS: UploadTimeouts = { totalMs: 10 * 60_000, idleMs: 60_000 };

/**
 * Reads a multipart form as a stream: text fields and exactly one file, in any order. The file name and the content type of the file are ignored.
 * @param shape the field name of the file, and the schema of the text fields
 * @param receive consumes the bytes of the file; when it throws, reading stops and the same error is thrown
 * @returns the validated text fields
 * @throws 400 when the form is invalid, incomplete or too slow, and the errors of `receive`
 */
export async function readForm<Fields extends z.ZodType>(
  ctx: Koa.Context,
  body: Readable,
  shape: { readonly file: string; readonly fields: Fields },
  receive: (bytes: Readable) => Promise<void>,
  pace: UploadTimeouts = UPLOAD_TIMEOUTS,
): Promise<z.output<Fields>> {
  const form = openForm(ctx.get('Content-Type'));
  const fields = new Map<string, string>();
  let received: Promise<void> | undefined;
  let file: Readable | undefined;
  let failure: Error | undefined;
  const end = (error: Error) => {
    failure ??= error;
    form.destroy(error);
  };
  const endFor = (field: string | undefined, what: string) => end(fail(400, `${field?.slice(0, MAX_ECHO) ?? 'a field without a name'} ${what}`));
  form.on('field', (field: string | undefined, value, { valueTruncated }) => {
    if (field === undefined) endFor(field, 'is not a known field');
    else if (field === shape.file) endFor(field, 'must be a file');
    else if (fields.has(field)) endFor(field, 'must be sent once');
    else if (valueTruncated) endFor(field, `must be at most ${MAX_FIELD_BYTES} bytes`);
    else fields.set(field, value);
  });
  form.on('file', (field: string | undefined, bytes) => {
    // Without an error listener, an error of the file's stream would end the process. `receive` gets the error, too.
    bytes.on('error', () => undefined);
    if (field !== shape.file) return endFor(field, 'is not a known file');
    if (received) return endFor(field, 'must be sent once');
    file = bytes;
    received = receive(bytes);
    received.catch(end);
  });
  form.on('partsLimit', () => end(fail(400, `the form must have at most ${MAX_PARTS} parts`)));
  const stopTimeouts = enforceTimeouts(body, pace, end);
  try {
    await pipeline(body, form);
  } catch (error) {
    failure ??=
      error instanceof HttpError ? error : fail(400, 'the body must be a complete multipart form, because its Content-Type is multipart/form-data');
    // Ends the file's stream with the error. Otherwise `receive` could wait for ever, because busboy does not end a file that begins in the same
    // chunk, after the error.
    file?.destroy(failure);
  } finally {
    stopTimeouts();
    // Waits for `receive`, so that it does not run after this function has ended.
    await received?.catch(() => undefined);
  }
  if (failure) throw failure;
  if (!received) throw fail(400, `${shape.file} is required and must be a file`);
  const parsed = shape.fields.safeParse(Object.fromEntries(fields), { error: describeIssue });
  if (!parsed.success) throw validationError('body', parsed.error);
  return parsed.data;
}

function openForm(type: string): busboy.Busboy {
  try {
    const limits = { fieldSize: MAX_FIELD_BYTES, parts: MAX_PARTS };
    return busboy({ headers: { 'content-type': type }, limits, defParamCharset: 'utf8' });
  } catch {
    throw fail(400, 'Content-Type must be multipart/form-data with a boundary');
  }
}

/**
 * Calls `end` with a 400 error when a body exceeds its timeouts.
 * @returns a function that clears the timers
 */
function enforceTimeouts(body: Readable, { totalMs, idleMs }: UploadTimeouts, end: (error: Error) => void): () => void {
  const tooSlow = () => end(fail(400, `the body must arrive within ${totalMs / 1_000} s, without pauses of ${idleMs / 1_000} s`));
  const total = setTimeout(tooSlow, totalMs);
  const idle = setTimeout(tooSlow, idleMs);
  body.on('data', () => idle.refresh());
  return () => {
    clearTimeout(total);
    clearTimeout(idle);
  };
}
