import type { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathItemObject, type ZodOpenApiResponseObject } from 'zod-openapi';
import type { Config } from '#config';
import packageJson from '#package.json' with { type: 'json' };
import { usesStandardWebhooks } from '#platform/webhooks/signature.ts';
import { MAX_JSON_BYTES } from '../body.ts';
import { ActionErrorBody, ERRORS, ErrorBody } from '../error-statuses.ts';
import { type AnyRoute, credentialsOf, errorStatusesOf, isStream, type Stream } from '../route.ts';
import { descriptionOf, exampleOf } from './examples.ts';
import { securityOf, securitySchemes } from './security.ts';
import { TAGS, tagOf } from './tags.ts';

/** The OpenAPI 3.1 document. */
export type OpenApi = ReturnType<typeof createDocument>;

const JSON_TYPE = 'application/json';
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const SUCCESS: Record<number, string> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted. The work continues; Location is the address of its result.',
  204: 'No Content',
  206: 'Partial Content',
  304: 'Not Modified. The version of the ETag is current.',
};

const header = (description: string, schema: object = { type: 'string' }) => ({ description, schema });
const HEADERS = {
  'X-Total-Count': header('Total number of rows.', { type: 'integer', minimum: 0 }),
  'X-Archived-Before': header('First day of the rows that the list has; older rows are in the archive. Absent when the archive has none.', {
    type: 'string',
    format: 'date',
  }),
  ETag: header('Identifies this version of the resource. Clients send it in If-None-Match or If-Match.'),
  'Cache-Control': header('Maximum age of the response in caches.'),
  Location: header('Address of the result.', { type: 'string', format: 'uri-reference' }),
  'Retry-After': header('Delay before a retry, seconds.', { type: 'integer', minimum: 0 }),
};
const PARAMETERS = {
  'Idempotency-Key':
    'Identifies this request for 24 hours. A repeated request with the same body gets the same response; a request with the same key and another body gets a 409.',
  'If-None-Match': 'The ETag of the version that the client has. The response is 304 when that version is current.',
  'If-Match': 'The ETag of the version that the client changes. The response is 412 when that version is not current.',
  'webhook-id':
    'Identifies this delivery. A repeated delivery is acknowledged without effect; a delivery with the same id and another body gets a 409.',
  'webhook-timestamp': 'Time of sending, seconds since 1970. It must be within 300 s of the current time.',
};

/** Creates the OpenAPI document from the routes. */
export function openApi(config: Config, routes: readonly AnyRoute[]): OpenApi {
  const paths: Record<string, ZodOpenApiPathItemObject> = {};
  const versioned = new Set(routes.filter((route) => route.fails.includes(412)).map((route) => route.path));
  for (const route of routes) {
    const item = paths[route.path] ?? {};
    paths[route.path] = item;
    item[route.method] = operation(route, versioned.has(route.path));
  }
  const document = createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Coinop',
      version: packageJson.version,
      description:
        'The backend of an on-chain arcade on Solana. Times are ISO 8601 in UTC. Token amounts are decimal strings of base units. Integers are between −(2^53 − 1) and 2^53 − 1, so that every JSON parser reads them exactly. A deprecated endpoint stays; its responses have the header `Deprecation`. Every error is `{ "error": "…" }` (below `/actions` it is `{ "message": "…" }`, as the specification of Solana Actions demands) with one sentence:\n\n' +
        errorTable(),
    },
    servers: [{ url: '/' }, { url: config.publicUrl.origin, description: 'The public URL.' }],
    tags: TAGS.filter((tag) => routes.some((route) => tagOf(route.path) === tag.name)).map(({ name, description }) => ({ name, description })),
    paths,
    components: { securitySchemes: securitySchemes(config) },
  });
  addExamples(document);
  describeParameters(document);
  removeSafeBounds(document);
  return document;
}

/** Returns the operation id of a route: `GET /game/{id}/rank` → `getGameByIdRank`, `GET /` → `getRoot`. */
export function operationId(route: AnyRoute): string {
  const words = route.path.split(/[^A-Za-z0-9{]+/).filter(Boolean);
  const name = words.map((word) => (word.startsWith('{') ? `By${capital(word.slice(1))}` : capital(word))).join('');
  return route.method + (name || 'Root');
}
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

function operation(route: AnyRoute, versioned: boolean): ZodOpenApiOperationObject {
  const path = objectOf(route, route.params);
  const query = objectOf(route, route.query);
  const headerNames = [
    ...(route.idempotent ? (['Idempotency-Key'] as const) : []),
    ...(route.cache ? (['If-None-Match'] as const) : []),
    ...(route.fails.includes(412) ? (['If-Match'] as const) : []),
    ...(usesStandardWebhooks(credentialsOf(route).webhook) ? (['webhook-id', 'webhook-timestamp'] as const) : []),
  ];
  return {
    operationId: operationId(route),
    tags: [tagOf(route.path)],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(route.deprecatedSince === undefined ? {} : { deprecated: true }),
    security: securityOf(route.auth),
    requestParams: { ...(path ? { path } : {}), ...(query ? { query } : {}) },
    parameters: headerNames.map((name) => ({
      name,
      in: 'header' as const,
      ...(name.startsWith('webhook-') ? { required: true } : {}),
      description: PARAMETERS[name],
      schema: { type: 'string' as const },
    })),
    ...(route.body ? { requestBody: requestBody(route.body) } : {}),
    responses: {
      ...Object.fromEntries(Object.keys(route.returns).map((status) => [status, success(route, Number(status), versioned)])),
      ...(route.cache ? { 304: { description: SUCCESS[304] ?? '', headers: { ETag: HEADERS.ETag } } } : {}),
      ...Object.fromEntries(
        errorStatusesOf(route).flatMap((status) =>
          status in route.returns ? [] : [[status, (route.isAction ? ACTION_ERRORS : ERROR_RESPONSES).get(String(status))]],
        ),
      ),
    },
  };
}

/**
 * Returns the schema of a route's parameters as an object schema.
 * @throws when it is not an object schema
 */
function objectOf(route: AnyRoute, schema: z.ZodType | undefined): z.ZodObject | undefined {
  if (schema === undefined) return undefined;
  if (!isObject(schema)) throw new Error(`${route.method} ${route.path}: params and query must be objects`);
  return schema;
}
const isObject = (schema: z.ZodType): schema is z.ZodObject => schema.def.type === 'object';

function requestBody(body: z.ZodType | Stream): NonNullable<ZodOpenApiOperationObject['requestBody']> {
  if (isStream(body)) {
    const limit = body.maxBytes ?? MAX_JSON_BYTES;
    const json = body.json ? { [JSON_TYPE]: { schema: body.json } } : {};
    return {
      required: true,
      description: `At most ${limit} bytes.`,
      content: { ...json, [body.stream]: { schema: body.form ?? streamSchema(body) } },
    };
  }
  // An empty body counts as {}, so the body is optional when all of its fields are optional.
  return { required: !body.safeParse({}).success, content: { [JSON_TYPE]: { schema: body } } };
}

function success(route: AnyRoute, status: number, versioned: boolean): ZodOpenApiResponseObject {
  const shape = route.returns[status];
  const json = shape && isStream(shape) ? shape.json : shape;
  const isPaged = json?.def.type === 'array' && 'limit' in (objectOf(route, route.query)?.shape ?? {});
  const names: (keyof typeof HEADERS)[] = [];
  if (status === 200 && isPaged) names.push('X-Total-Count');
  if (status === 200 && route.archived) names.push('X-Archived-Before');
  if (status === 200 && (route.cache !== undefined || versioned)) names.push('ETag');
  if (status === 200 && route.cache !== undefined) names.push('Cache-Control');
  if (status === 202) names.push('Location');
  if (status === 503) names.push('Retry-After');
  const described = {
    description: SUCCESS[status] ?? ERROR_RESPONSES.get(String(status))?.description ?? 'OK',
    ...(names.length > 0 ? { headers: Object.fromEntries(names.map((name) => [name, HEADERS[name]])) } : {}),
  };
  if (!shape) return described;
  const types = isStream(shape) ? [shape.stream, ...(shape.others ?? [])] : [];
  const bytes = Object.fromEntries(types.map((type) => [type, { schema: streamSchema({ stream: type }) }]));
  return { ...described, content: { ...bytes, ...(json ? { [JSON_TYPE]: { schema: json } } : {}) } };
}

/** Returns the schema of a stream: a string for text, and an empty schema for bytes, as OpenAPI 3.1 requires. */
const streamSchema = ({ stream }: Stream) => (/^text\/|json/.test(stream) ? { type: 'string' as const } : {});

/** Creates one response component per error status, shared by all routes whose errors have the same body. */
const errorResponses = (prefix: string, body: z.ZodType, example: (sentence: string) => object): ReadonlyMap<string, ZodOpenApiResponseObject> =>
  new Map(
    Object.entries(ERRORS).map(([status, { id, meaning, example: sentence }]) => [
      status,
      {
        id: `${prefix}${id}`,
        description: meaning,
        ...(status === '429' || status === '503' ? { headers: { 'Retry-After': HEADERS['Retry-After'] } } : {}),
        content: { [JSON_TYPE]: { schema: body, example: example(sentence) } },
      },
    ]),
  );
const ERROR_RESPONSES = errorResponses('', ErrorBody, (error) => ({ error }));
const ACTION_ERRORS = errorResponses('Action', ActionErrorBody, (message) => ({ message }));

/** Returns a table of the error statuses, so that the operations need not repeat the meaning and an example of each. */
const errorTable = (): string =>
  ['| status | meaning | example of the sentence |', '| --- | --- | --- |']
    .concat(Object.entries(ERRORS).map(([status, { meaning, example }]) => `| ${status} | ${meaning} | ${example} |`))
    .join('\n');

/**
 * Adds to a parameter the description of its schema if it has none of its own, because viewers show only that of the parameter, and to a parameter in the
 * path an example.
 */
function describeParameters(document: OpenApi): void {
  const components = document.components?.schemas ?? {};
  for (const item of Object.values(document.paths ?? {})) {
    for (const method of METHODS) {
      for (const parameter of item[method]?.parameters ?? []) {
        if (!('in' in parameter)) continue;
        parameter.description ??= descriptionOf(parameter.schema, components);
        if (parameter.in === 'path') parameter.example ??= exampleOf(parameter.schema, components, false);
      }
    }
  }
}

/** Adds an example to every JSON request body and JSON response. Each example is made from the examples in the schemas. */
function addExamples(document: OpenApi): void {
  const components = document.components?.schemas ?? {};
  const fill = (content: Readonly<Record<string, object>> | undefined, optional: boolean) => {
    const media: { schema?: unknown; example?: unknown } | undefined = content?.[JSON_TYPE];
    if (media && media.example === undefined) media.example = exampleOf(media.schema, components, optional);
  };
  for (const item of Object.values(document.paths ?? {})) {
    for (const method of METHODS) {
      const { requestBody, responses = {} } = item[method] ?? {};
      if (requestBody && 'content' in requestBody) fill(requestBody.content, false);
      for (const response of Object.values(responses)) if ('content' in response) fill(response.content, true);
    }
  }
}

/**
 * Removes the bounds −(2^53 − 1) and 2^53 − 1, which zod writes into the schema of every integer. The description of the API states them once. So each bound
 * in the document is a rule of its field.
 */
function removeSafeBounds(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const schema: { minimum?: unknown; maximum?: unknown } = value;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  for (const member of Object.values(value)) removeSafeBounds(member);
}
