import java.util.*;
import java.util.stream.Collectors;

/** As much of JSON as the protocol needs. Numbers are Longs where they are whole, otherwise Doubles; a field that is null is left out. */
final class Json {
    private final String line;
    private int at;

    private Json(String line) { this.line = line; }

    /** The fields of an object. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> read(String line) { return (Map<String, Object>) new Json(line).value(); }

    static double number(Map<String, Object> fields, String name) {
        return ((Number) fields.getOrDefault(name, 0)).doubleValue();
    }

    private Object value() {
        switch (next()) {
            case '"':
                return text();
            case '{':
                Map<String, Object> fields = new HashMap<>();
                while (more('}')) {
                    next(); // the quotation mark
                    String name = text();
                    next(); // the colon
                    Object value = value();
                    if (value != null) fields.put(name, value);
                }
                return fields;
            case '[':
                List<Object> list = new ArrayList<>();
                while (more(']')) list.add(value());
                return list;
        }
        int begin = at - 1;
        while (at < line.length() && " ,]}".indexOf(line.charAt(at)) < 0) at++;
        String word = line.substring(begin, at);
        switch (word) {
            case "null": return null;
            case "true": case "false": return word.equals("true");
        }
        return word.matches("-?\\d{1,18}") ? (Object) Long.valueOf(word) : Double.valueOf(word);
    }

    /** Whether another element comes before the end of an object or a list. */
    private boolean more(char end) {
        char found = next();
        if (found != ',' && found != end) at--; // the first element
        return found != end;
    }

    private char next() {
        while (Character.isWhitespace(line.charAt(at))) at++;
        return line.charAt(at++);
    }

    private String text() {
        StringBuilder text = new StringBuilder();
        for (char c = line.charAt(at++); c != '"'; c = line.charAt(at++)) {
            if (c != '\\') {
                text.append(c);
                continue;
            }
            c = line.charAt(at++);
            if (c == 'u') text.append((char) Integer.parseInt(line.substring(at, at += 4), 16));
            else text.append("bfnrt".indexOf(c) < 0 ? c : "\b\f\n\r\t".charAt("bfnrt".indexOf(c)));
        }
        return text.toString();
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
