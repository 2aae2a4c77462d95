// JSON as a type: what may cross the socket, sit in a row, or be written by a model.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };
