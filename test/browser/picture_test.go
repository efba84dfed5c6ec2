package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"slices"
	"testing"
)

// distinct are the first 256 colours that differ from each other, so that the many shades at the edges of letters leave
// room for a colour that is rare and means something.
func distinct(colours []color.RGBA) color.Palette {
	var palette color.Palette
	for apart := 24; len(palette) < 256 && apart >= 0; apart -= 6 {
		for _, c := range colours {
			if len(palette) == 256 {
				break
			}
			if !slices.ContainsFunc(palette, func(p color.Color) bool { return near(p.(color.RGBA), c) <= apart }) {
				palette = append(palette, c)
			}
		}
	}
	return palette
}

// near is how far two colours are apart.
func near(a, b color.RGBA) int {
	return abs(int(a.R)-int(b.R)) + abs(int(a.G)-int(b.G)) + abs(int(a.B)-int(b.B))
}

func abs(n int) int { return max(n, -n) }

// small writes a picture with 256 colours that occur often, and gives every other pixel the nearest of them: a
// third of the size, and a page of flat colours looks the same.
func small(t *testing.T, picture []byte) []byte {
	t.Helper()
	src, err := png.Decode(bytes.NewReader(picture))
	must(t, err)
	bounds := src.Bounds()
	often := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(src.At(x, y)).(color.RGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			often[at(x, y)]++
		}
	}
	colours := make([]color.RGBA, 0, len(often))
	for c := range often {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.RGBA) int {
		return cmp.Or(often[b]-often[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	palette := distinct(colours)
	nearest := map[color.RGBA]uint8{}
	out := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := at(x, y)
			i, known := nearest[c]
			if !known {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	var b bytes.Buffer
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out))
	return b.Bytes()
}
