// std/media_types/mod.ts based on the npm package with the same registry.
import mime from "npm:mime-types@2";

const known = (text: string | false): string | undefined => text || undefined;
export const contentType = (extensionOrType: string): string | undefined => known(mime.contentType(extensionOrType));
export const typeByExtension = (extension: string): string | undefined => known(mime.lookup(extension));
export const extension = (type: string): string | undefined => known(mime.extension(type));
export const extensionsByType = (type: string): string[] | undefined => mime.extensions[type.split(";")[0].trim()];
