import java.util.*;
import java.util.regex.*;
import java.util.stream.Collectors;

/** As much of JSON as the protocol needs. Numbers are Longs where they are whole, otherwise Doubles; a field that is null is left out. */
final class Json {
    /** A bracket, a string, or a word. Colons and commas say nothing more. */
    private static final Pattern TOKEN = Pattern.compile("[{}\\[\\]]|\"(?:[^\"\\\\]|\\\\.)*+\"|[^\\s:,{}\\[\\]\"]+");
    private static final Pattern ESCAPED = Pattern.compile("\\\\(?:u(....)|(.))");
    private static final Object END = new Object(); // of an object, or of a list

    /** The fields of an object. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> read(String line) { return (Map<String, Object>) value(TOKEN.matcher(line)); }

    private static Object value(Matcher tokens) {
        if (!tokens.find()) throw new IllegalArgumentException("not a JSON object");
        String token = tokens.group();
        switch (token.charAt(0)) {
            case '{':
                Map<String, Object> fields = new HashMap<>();
                for (Object name = value(tokens); name != END; name = value(tokens)) fields.put((String) name, value(tokens));
                fields.values().removeIf(Objects::isNull);
                return fields;
            case '[':
                List<Object> list = new ArrayList<>();
                for (Object value = value(tokens); value != END; value = value(tokens)) list.add(value);
                return list;
            case '"': return ESCAPED.matcher(token.substring(1, token.length() - 1)).replaceAll(Json::unescaped);
            case '}': case ']': return END;
            case 't': case 'f': return Boolean.valueOf(token);
            case 'n': return null;
        }
        return token.matches("-?\\d{1,18}") ? (Object) Long.valueOf(token) : Double.valueOf(token);
    }

    private static String unescaped(MatchResult escape) {
        if (escape.group(1) != null) return Matcher.quoteReplacement("" + (char) Integer.parseInt(escape.group(1), 16));
        return Matcher.quoteReplacement("/".equals(escape.group(2)) ? "/" : escape.group().translateEscapes());
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream().map(e -> write(e.getKey()) + ":" + write(e.getValue())).collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof Collection<?> list) return list.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
        if (value == null || value instanceof Number || value instanceof Boolean) return String.valueOf(value);
        StringBuilder text = new StringBuilder("\"");
        for (char c : String.valueOf(value).toCharArray()) text.append(c < ' ' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : c);
        return text + "\"";
    }
}
