/** A JSON schema in the OpenAPI document. It lists only the keywords that the fuzzer uses to generate values. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly example?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly multipleOf?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
}

interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
}

interface DocumentedOperation {
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Readonly<Record<string, unknown>> }>>;
}

/** An operation of the service: a method and a path. */
export interface Operation {
  /** Method and path, for example `POST /battle/{id}/join`. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Types of credentials that the operation accepts; a request needs one of them. `none` means that the operation is public. */
  readonly callers: readonly string[];
  /**
   * Scopes of admin tokens that the operation accepts. Empty when the operation accepts no admin token, or when the OpenAPI document lists no scopes
   * for it.
   */
  readonly scopes: readonly string[];
  readonly parameters: readonly Parameter[];
  /** Request bodies by content type. */
  readonly bodies: Readonly<Record<string, Content>>;
  readonly isBodyRequired: boolean;
  /** Content types of responses, by documented status. */
  readonly statuses: ReadonlyMap<number, readonly string[]>;
}

/** The parsed OpenAPI document. */
export interface Document {
  readonly operations: readonly Operation[];
  readonly schemas: Readonly<Record<string, Schema>>;
}

/** Reads and parses `/openapi.json` of a service. */
export async function readDocument(url: string): Promise<Document> {
  const response = await fetch(`${url}/openapi.json`);
  if (!response.ok) throw new Error(`/openapi.json returned ${response.status}`);
  const document: {
    readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly responses: DocumentedOperation['responses'] };
  } = JSON.parse(await response.text());
  const { schemas, responses } = document.components;
  const typesOf = (described: DocumentedOperation['responses'][string]) => {
    const named = described.$ref === undefined ? described : responses[lastOf(described.$ref)];
    return Object.keys(named?.content ?? {});
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]): Operation => {
      const callers = described.security
        .flatMap((requirement) => (Object.keys(requirement).length === 0 ? ['none'] : Object.keys(requirement)))
        // Every operation that takes a session token also takes a session cookie, which the generated requests use.
        .filter((caller) => caller !== 'sessionToken');
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        callers: callers.length === 0 ? ['none'] : callers,
        scopes: described.security.flatMap(({ admin = [] }) => admin),
        parameters: described.parameters ?? [],
        bodies: described.requestBody?.content ?? {},
        isBodyRequired: described.requestBody?.required ?? false,
        statuses: new Map(Object.entries(described.responses).map(([status, response]) => [Number(status), typesOf(response)])),
      };
    }),
  );
  return { operations, schemas };
}

/** Returns the name of the component in a `$ref`. */
export const lastOf = (reference: string): string => reference.slice(reference.lastIndexOf('/') + 1);
